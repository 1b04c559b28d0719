"""Files written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from pathlib import Path

from safetensors import SafetensorError

from eyeline.errors import EyelineError, StorageError


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A file beside `path` that takes its place when all went well, and is gone when not: a full disk leaves what was there before."""
    path = Path(path)
    if not path.name:
        raise StorageError(f"{str(path)!r} is no name for a file.", "Give a file name, such as cat.safetensors or cat.html.")
    beside = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
    try:
        try:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            mode = beside.stat().st_mode
            yield beside
            beside.chmod(mode)  # safetensors writes a file of its own, for its owner alone
            os.replace(beside, path)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, SafetensorError) as error:
        if isinstance(error, EyelineError):
            raise
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{path}: cannot be written ({reason}).", "Nothing was changed. Choose another place, or make room.") from error


def write_whole(path: str | Path, parts: Iterable[bytes]) -> None:
    """Write the parts one after the other to `path`, whole or not at all."""
    with replacing(path) as beside, beside.open("wb") as file:
        for part in parts:
            file.write(part)
        file.flush()
        os.fsync(file.fileno())


def make_folder(path: Path) -> None:
    """A folder for files, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{path}: cannot be made a folder ({error.strerror}).", "Choose another place.") from error
