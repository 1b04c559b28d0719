"""The lines of a text file, plain or gzipped, as UTF-8. A line with bad bytes is named by its number."""

from __future__ import annotations

import gzip
import hashlib
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from eyeline.errors import TextError


def _open(path: Path) -> IO[bytes]:
    return gzip.open(path, "rb") if path.suffix == ".gz" else path.open("rb")  # type: ignore[return-value]


def file_hash(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def numbered_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Lines from 1; a line that is not UTF-8 is named."""
    try:
        with _open(path) as file:
            for number, line in enumerate(file, 1):
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
