"""Files written whole or not at all, and flushed to the disk before they count as written."""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from safetensors import SafetensorError

from eyeline.errors import EyelineError, StorageError
from eyeline.storage.names import as_path

#: What files and folders are called while they are written: our own, and those of safetensors.
PARTS = (".*.part", ".tmp*")
#: Seconds after which such a file counts as abandoned.
STALE = 3600


@contextlib.contextmanager
def replacing(path: str | Path) -> Iterator[Path]:
    """A temporary file beside `path`. It replaces `path` when all went well, and is removed when not: a full disk changes nothing."""
    path = as_path(path)
    if not path.name or "\0" in str(path):
        raise StorageError(f"{str(path)!r} is no name for a file.", "Give a file name, such as cat.safetensors or cat.html.")
    beside = path.with_name(f".{path.name[:100]}.{secrets.token_hex(8)}.part")
    try:
        try:
            os.close(os.open(beside, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
            mode = beside.stat().st_mode
            yield beside
            beside.chmod(mode)  # safetensors writes a file of its own, for its owner alone
            flush(beside)
            os.replace(beside, path)
            flush(path.parent)
        finally:
            beside.unlink(missing_ok=True)
    except (OSError, SafetensorError) as error:
        if isinstance(error, EyelineError):
            raise
        raise unwritable(path, error, "Nothing was changed.") from error


def unwritable(path: Path, error: Exception, state: str = "") -> StorageError:
    """The error for a file or folder that the system did not let us write. state: what is there now."""
    reason = getattr(error, "strerror", None) or str(error)
    return StorageError(f"{path}: cannot be written ({reason}).", f"{state} Choose another folder, or free some space.".lstrip())


def write_whole(path: str | Path, parts: Iterable[bytes]) -> None:
    """Write the parts one after the other to `path`, whole or not at all."""
    with replacing(path) as beside, beside.open("wb") as file:
        for part in parts:
            file.write(part)


def flush(path: Path) -> None:
    """Ask the system to write a file, or the list of names of a folder, to the disk. Systems that cannot open folders skip those."""
    if path.is_dir() and os.name == "nt":
        return
    number = os.open(path, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


def make_folder(path: Path) -> None:
    """A folder for files, with those above it."""
    try:
        path.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        raise StorageError(f"{path}: cannot be made a folder ({reason}).", "Choose another folder.") from error


def sweep(folder: Path, *, older_than: float = STALE) -> None:
    """Remove what killed processes left half-written in a folder. Files of processes that may still write stay."""
    oldest = time.time() - older_than
    for pattern in PARTS:
        for path in folder.glob(pattern):
            with contextlib.suppress(OSError):  # another process removes it too
                if path.lstat().st_mtime < oldest:
                    remove(path)


def remove(path: Path) -> None:
    """Remove a file, a link or a whole folder, if it is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)
