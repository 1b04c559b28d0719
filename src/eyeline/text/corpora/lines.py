"""The lines of a text file, plain or packed, as UTF-8. A line with bad bytes is named by its number."""

from __future__ import annotations

import zlib
from collections.abc import Generator
from pathlib import Path

from eyeline.errors import EyelineError, TextError
from eyeline.text.corpora.files import DAMAGED, SourceFile, zstd_errors

#: A longer line is refused before it fills the memory: a small packed file can hold one of any length.
LONGEST_LINE = 1 << 27


def numbered_lines(path: Path | SourceFile, longest: int | None = None) -> Generator[tuple[int, str], None, None]:
    """Lines from 1; a line that is not UTF-8, or has more than `longest` bytes (LONGEST_LINE), is named."""
    longest = LONGEST_LINE if longest is None else longest
    source = path if isinstance(path, SourceFile) else SourceFile(str(path), str(path))
    damaged: tuple[type[Exception], ...] = (OSError, EOFError, zlib.error, *zstd_errors(source))
    try:
        with source.open() as file:
            for number, line in enumerate(iter(lambda: file.readline(longest + 1), b""), 1):
                if len(line) > longest:
                    raise TextError(
                        f"{path}, line {number}: longer than {longest:,} bytes.", "Is it a text file? Break its lines, or cut it."
                    )
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    raise TextError(
                        f"{path}, line {number}: not UTF-8 (byte {error.start + 1} of the line is 0x{line[error.start]:02x}).",
                        "Save it as UTF-8, from the encoding that it has (latin1, utf-16, cp932 …): iconv -f ENCODING -t utf-8 FILE",
                    ) from error
    except damaged as error:
        if isinstance(error, EyelineError):
            raise
        raise TextError(f"{path}: cannot be read ({error}).", DAMAGED) from error
