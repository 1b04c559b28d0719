"""The files of a corpus: one file, a folder, a pattern such as `data/*.parquet`, or an address such as `s3://bucket/data/*.jsonl.gz`."""

from __future__ import annotations

import gzip
import hashlib
import io
import os
import re
import sys
import zlib
from collections.abc import Generator, Iterable
from dataclasses import dataclass, replace
from itertools import takewhile
from pathlib import Path
from typing import IO, Any, cast

from eyeline.errors import EyelineError, TextError, install_hint
from eyeline.messages import Message
from eyeline.storage.files import as_path

#: What begins an address. A Windows drive (C:) has one letter and no slashes.
ADDRESS = re.compile(r"^[a-z][a-z0-9+.-]+://", re.IGNORECASE)

#: Bytes that are read at a time.
BUFFER = 1 << 20

PACKED = (".gz", ".zst")

WHAT = "Give a file, a folder, a pattern such as data/*.jsonl, or an address such as s3://bucket/texts.jsonl."

REFUSED = "Check the address, whether its server runs, and the keys that it asks for (docs/how-to/corpus.md)."


class HashedBytes(io.RawIOBase):
    """A file whose bytes go into a hash as they are read, so that hashing needs no reading of its own."""

    def __init__(self, file: IO[bytes], digest: Any) -> None:
        self._file, self._digest = file, digest

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self._file.read(len(buffer))
        buffer[: len(data)] = data
        self._digest.update(data)
        return len(data)

    def close(self) -> None:
        self._file.close()
        super().close()


@dataclass(frozen=True)
class SourceFile:
    """One file of a corpus.

    name     for messages: the path or the address, without a password
    path     where it is; for an address, within its file system
    system   the fsspec file system of an address; None: a file of this machine
    digest   a hash that takes up every byte that is read; None: nothing is hashed
    """

    name: str
    path: str
    system: Any = None
    digest: Any = None

    def __str__(self) -> str:
        return self.name

    @property
    def ending(self) -> str:
        """The last part of the name that says what is in the file: `.jsonl` of texts.jsonl.gz."""
        parts = [part.lower() for part in Path(self.path).suffixes[-2:]]
        unpacked = parts[:-1] if parts and parts[-1] in PACKED else parts
        return unpacked[-1] if unpacked else ""

    def open_packed(self) -> IO[bytes]:
        """The bytes as they are stored."""
        try:
            file = Path(self.path).open("rb") if self.system is None else self.system.open(self.path, "rb")  # noqa: SIM115 - closed by the caller
        except Exception as error:  # a file system of fsspec raises what its library raises
            raise unreadable(self.name, error) from error
        if self.digest is not None:
            return cast("IO[bytes]", io.BufferedReader(HashedBytes(file, self.digest), BUFFER))
        return cast("IO[bytes]", file if self.system is None else io.BufferedReader(file, BUFFER))

    def open(self) -> IO[bytes]:
        """The bytes of the text: unpacked where the name ends in .gz or .zst."""
        packed = self.open_packed()
        ending = Path(self.path).suffix.lower()
        if ending == ".gz":
            return cast("IO[bytes]", gzip.GzipFile(fileobj=packed, mode="rb"))
        if ending == ".zst":
            return cast("IO[bytes]", import_zstd().ZstdFile(packed, "rb"))
        return packed

    def hashed(self, digest: Any) -> SourceFile:
        """The same file; what is read from it goes into this hash too."""
        return replace(self, digest=digest)

    def identity(self) -> str:
        """A hash that another content would not have, without reading a remote file: its size and what its store says of it."""
        if self.system is None:
            try:
                with Path(self.path).open("rb") as file:
                    return hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                raise unreadable(self.name, error) from error
        try:
            described = f"{self.system.size(self.path)} {self.system.ukey(self.path)}"
        except Exception as error:
            raise unreadable(self.name, error) from error
        return hashlib.sha256(described.encode()).hexdigest()


def import_zstd() -> Any:
    """The library that unpacks zstd: of Python itself from 3.14 on, before that its copy for older versions."""
    try:
        if sys.version_info >= (3, 14):
            from compression import zstd
        else:
            from backports import zstd
    except ImportError as error:
        raise EyelineError("A .zst file needs backports.zstd, which is not installed.", install_hint("corpora")) from error
    return zstd


def zstd_errors(file: SourceFile) -> tuple[type[Exception], ...]:
    """What the library raises for a damaged .zst file."""
    return (import_zstd().ZstdError,) if file.path.lower().endswith(".zst") else ()


def import_arrow(what: str) -> Any:
    """The library that reads Parquet and Arrow."""
    try:
        import pyarrow
    except ImportError as error:
        raise EyelineError(f"{what} needs pyarrow, which is not installed.", install_hint("corpora")) from error
    return pyarrow


def is_address(given: object) -> bool:
    """Whether this is an address such as s3://bucket/key, and not a path of this machine."""
    return isinstance(given, str) and ADDRESS.match(given) is not None


def without_password(address: str) -> str:
    """The address as a message or a run may show it.

    >>> without_password("https://me:secret@example.org/a.txt?signature=abc")
    'https://example.org/a.txt'
    """
    return re.sub(r"^([a-z0-9+.-]+://)[^/@]*@", r"\1", address, flags=re.IGNORECASE).partition("?")[0]


def file_name(path: Path) -> str:
    """The file's name as text: bytes that are not UTF-8 are shown as �."""
    return os.fsencode(path.name).decode("utf-8", "replace")


def check_is_file(path: Path, what: str) -> None:
    """Refuse a path that is not a file: a name with NUL in it, a folder, a name that does not exist."""
    try:
        is_file, is_folder = path.is_file(), path.is_dir()
    except (OSError, ValueError) as error:
        raise TextError(f"{str(path)[:200]!r} is not the name of a file ({error}).", what) from error
    if not is_file:
        raise TextError(f"{str(path)[:200]}: {'a folder' if is_folder else 'no such file'}.", what)


def file_hash(path: Path) -> str:
    """The hash of the file's bytes."""
    return SourceFile(str(path), str(path)).identity()


def find_files(given: str | Path, endings: Iterable[str]) -> tuple[SourceFile, ...]:
    """The files that a path, a pattern or an address names, in the order of their names; of a folder, those with one of these endings."""
    if is_address(given):
        return _remote_files(str(given), endings)
    path = as_path(given)
    try:
        if path.is_dir():
            files = sorted(entry for entry in path.rglob("*") if entry.is_file() and not _is_hidden(entry, path))
            return _with_ending([SourceFile(str(entry), str(entry)) for entry in files], endings, str(path))
        if not path.exists() and any(char in str(path) for char in "*?["):
            fixed = list(takewhile(lambda part: not any(char in part for char in "*?["), path.parts))
            root, pattern = Path(*fixed), str(Path(*path.parts[len(fixed) :]))
            files = sorted(entry for entry in root.glob(pattern) if entry.is_file() and not _is_hidden(entry, root))
            if not files:
                raise TextError(f"{path}: no file matches.", WHAT)
            return tuple(SourceFile(str(entry), str(entry)) for entry in files)
    except (OSError, ValueError) as error:
        if isinstance(error, EyelineError):
            raise
        raise TextError(f"{str(path)[:200]!r} is not the name of a file ({error}).", WHAT) from error
    check_is_file(path, WHAT)
    return (SourceFile(str(path), str(path)),)


def _remote_files(address: str, endings: Iterable[str]) -> tuple[SourceFile, ...]:
    try:
        import fsspec
    except ImportError as error:
        raise EyelineError(f"{without_password(address)} needs fsspec, which is not installed.", install_hint("remote")) from error
    shown = without_password(address)
    try:
        system, path = fsspec.core.url_to_fs(address)
        matched = system.glob(path) if any(char in path for char in "*[") else [path]
        if matched == [path] and not system.isfile(path) and system.isdir(path):
            entries = [entry for entry in system.find(path) if not _is_hidden(Path(entry), Path(path))]
            return _with_ending([_remote(system, address, entry) for entry in sorted(entries)], endings, shown)
        if matched == [path] and not system.exists(path):
            matched = []
    except EyelineError:
        raise
    except ImportError as error:
        protocol = address.partition("://")[0]
        beside = "The extra `remote` brings what S3 and the web need; for other addresses, install the package that is named here."
        raise EyelineError(f"{shown}: {' '.join(str(error).split())}", install_hint("remote") if protocol == "s3" else beside) from error
    except Exception as error:
        raise unreadable(shown, error) from error
    if not matched:
        raise TextError(f"{shown}: no such file.", WHAT)
    return tuple(_remote(system, address, entry) for entry in sorted(matched))


def _remote(system: Any, address: str, path: str) -> SourceFile:
    protocol = address.partition("://")[0]
    name = path if is_address(path) else f"{protocol}://{path.lstrip('/') if protocol != 'file' else path}"
    return SourceFile(without_password(name), path, system)


def _with_ending(files: list[SourceFile], endings: Iterable[str], folder: str) -> tuple[SourceFile, ...]:
    known = tuple(endings)
    chosen = tuple(file for file in files if file.ending in known)
    if not chosen:
        raise TextError(
            f"{folder}: a folder without a corpus file.", f"Their names end in {', '.join(known)}, packed as .gz or .zst or not."
        )
    return chosen


def _is_hidden(path: Path, folder: Path) -> bool:
    return any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)


def unreadable(name: str, error: Exception, advice: str = "") -> TextError:
    """The error of a file system or of a library that reads files, in one sentence."""
    advice = advice or (REFUSED if is_address(name) else WHAT)
    reason = " ".join(str(error).split())[:300]
    return TextError(f"{name}: cannot be read ({type(error).__name__}{': ' + reason if reason else ''}).", advice)


def shown_name(given: str | Path, files: tuple[SourceFile, ...]) -> str:
    """The name of a corpus: its file's name, or what was given and the number of files."""
    if len(files) == 1:
        return file_name(Path(files[0].path))
    return f"{file_name(Path(without_password(str(given))))} ({len(files):,} files)"


# ---- The lines of a text file, plain or packed, as UTF-8


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
                    too_long = Message("refusal.long_line", file=str(path), line=str(number), most=f"{longest:,}")
                    raise TextError(too_long, Message("refusal.break_lines"))
                try:
                    yield number, line.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
                except UnicodeDecodeError as error:
                    byte = {"byte": str(error.start + 1), "value": f"0x{line[error.start]:02x}"}
                    wrong = Message("refusal.not_utf8", file=str(path), line=str(number), **byte)
                    raise TextError(wrong, Message("refusal.save_as_utf8")) from error
    except damaged as error:
        if isinstance(error, EyelineError):
            raise
        raise TextError(Message("refusal.unreadable_file", file=str(path), why=str(error)), Message("refusal.damaged_file")) from error
