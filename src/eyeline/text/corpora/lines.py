"""The lines of a text file, plain or gzipped, as UTF-8. A line with bad bytes is named by its number."""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from eyeline.errors import TextError

#: A longer line is refused before it fills the memory: a small packed file can hold one of any length.
LONGEST_LINE = 1 << 27


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def file_name(path: Path) -> str:
    """The file's name as text: bytes that are no UTF-8 are shown as �."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def check_is_file(path: Path, what: str) -> None:
    """Refuse what is no file: a name with NUL in it, a folder, a name that does not exist."""
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:
        raise TextError(f"{str(path)[:200]!r} is not the name of a file ({error}).", what) from error
    if not is_file:
        raise TextError(f"{str(path)[:200]}: {'a folder' if is_folder else 'no such file'}.", what)


def file_hash(path: Path) -> str:
    """The SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def numbered_lines(path: Path, longest: int = LONGEST_LINE) -> Iterator[tuple[int, str]]:
    """Lines from 1; a line that is not UTF-8, or has more than `longest` bytes, is named."""
    try:
        with _open(path) as file:
            for number, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
                if len(line) > longest:
                    raise TextError(
                        f"{path}, line {number}: longer than {longest:,} bytes.", "Is it a text file? Break its lines, or cut it."
                    )
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise TextError(
                        f"{path}, line {number}: not UTF-8 (byte 0x{line[error.start]:02x}, the {error.start + 1}th of the line).",
                        "Save the file as UTF-8: iconv -f latin1 -t utf-8 FILE",
                    ) from error
    except (OSError, EOFError, zlib.error) as error:
        if isinstance(error, TextError):
            raise
        raise TextError(f"{path}: cannot be read ({error}).", "The file is damaged or not what its ending says.") from error
