"""Files that carry checksums of their own content, read whole or refused by name: arrays in safetensors, and JSON."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from eyeline.errors import Advice, StorageError
from eyeline.storage.files import replacing, write_whole

#: The entries of a safetensors file's metadata.
HEADER, HEADER_CRC = "eyeline", "eyeline-crc32"


@dataclass(frozen=True)
class FileKind:
    """What a file holds.

    name        "trace", "space", "state"
    format      increased when the content of the header changes; a file of another format is refused by name
    reads       older formats that are read too
    written_by  how such a file is written
    otherwise   what may open a safetensors file of other programs
    """

    name: str
    format: int
    written_by: str
    otherwise: str | Advice
    reads: tuple[int, ...] = ()

    def damaged(self, path: Path, reason: object) -> StorageError:
        """The error for a file that is of this kind but cannot be trusted."""
        return StorageError(f"{path}: damaged ({reason}).", "Delete it and make it again.", self.written_by)


@dataclass(frozen=True)
class Sealed:
    """What a sealed file held."""

    header: dict[str, Any]
    arrays: dict[str, np.ndarray]


def write_sealed(path: str | Path, kind: FileKind, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays and a header. A full disk or a missing folder is a StorageError, and leaves no file behind.

    The same header and arrays give the same bytes, in whatever order the arrays come.
    """
    arrays = {name: np.ascontiguousarray(array) for name, array in sorted(arrays.items())}
    whole = {**header, "format": kind.format, "kind": kind.name, "arrays": {name: _seal(array) for name, array in arrays.items()}}
    text = json.dumps(whole, ensure_ascii=True)
    with replacing(path) as temporary:
        save_file(arrays, temporary, metadata={HEADER: text, HEADER_CRC: str(zlib.crc32(text.encode()))})
        _sort_metadata(temporary)


def _sort_metadata(path: Path) -> None:
    """Put the metadata of a safetensors file in order: the library writes its entries in an order that differs from file to file."""
    with path.open("r+b") as file:
        length = int.from_bytes(file.read(8), "little")
        header = json.loads(file.read(length))
        header["__metadata__"] = dict(sorted(header["__metadata__"].items()))
        file.seek(8)
        file.write(json.dumps(header, ensure_ascii=False, separators=(",", ":")).encode().ljust(length))


def read_sealed(path: Path, kind: FileKind) -> Sealed:
    """The header and the arrays of a file of this kind. A file that is not of this kind, or is damaged, is a StorageError."""
    metadata, arrays = _read(path, kind)
    text = metadata.get(HEADER)
    if text is None:
        raise StorageError(f"{path}: a safetensors file, but not a {kind.name} of eyeline.", kind.otherwise)
    try:
        header = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise kind.damaged(path, f"its header cannot be read: {str(error)[:200]}") from error
    if not isinstance(header, dict):
        raise kind.damaged(path, "its header is not a JSON object")
    if metadata.get(HEADER_CRC) != str(zlib.crc32(text.encode())):
        raise kind.damaged(path, "the checksum of its header does not match")
    held, form = header.get("kind", "file"), header.get("format")
    if held != kind.name or form not in (kind.format, *kind.reads):
        raise StorageError(
            f"{path}: holds a {str(held)[:40]} in format {str(form)[:40]}; needed: a {kind.name} in format {kind.format}.",
            "Make it again, or use the version that wrote it.",
        )
    _check_arrays(path, kind, header, arrays)
    return Sealed(header, arrays)


def kind_of(path: Path) -> str | None:
    """The kind that a sealed file says it is of; None where it is not a sealed file. Checks nothing else."""
    try:
        with safe_open(path, framework="numpy") as file:
            return str(json.loads((file.metadata() or {})[HEADER])["kind"])
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, RecursionError):
        return None


def checksum(array: np.ndarray) -> int:
    """CRC-32 of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _seal(array: np.ndarray) -> list[Any]:
    """What must not change in an array: type, shape and bytes."""
    return [str(array.dtype), list(array.shape), checksum(array)]


def _read(path: Path, kind: FileKind) -> tuple[dict[str, str], dict[str, np.ndarray]]:
    try:
        if not path.is_file():
            raise StorageError(f"{path}: no such file.", kind.written_by)
        with safe_open(path, framework="numpy") as file:
            return dict(file.metadata() or {}), {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError, TypeError, KeyError, MemoryError, OverflowError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"{path}: cannot be read as safetensors ({str(error)[:200]}).",
            f"It is damaged, truncated or another kind of file. If it was a {kind.name}, delete it and make it again.",
        ) from error


def _check_arrays(path: Path, kind: FileKind, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Every array that the header lists is there, unchanged, and no other is."""
    seals = header.get("arrays")
    if not isinstance(seals, dict) or set(seals) != set(arrays):
        raise kind.damaged(path, "its arrays are not those that its header lists")
    for name, array in arrays.items():
        if seals[name] != _seal(array):
            raise kind.damaged(path, f"the checksum of the array {name!r} does not match")


# ---- JSON files


#: The entry that holds the checksum.
SEAL = "sha256"


def write_sealed_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a mapping with its checksum as the last entry."""
    sealed = {**data, SEAL: seal_of(data)}
    write_whole(path, [json.dumps(sealed, indent=1, ensure_ascii=False).encode(), b"\n"])


def read_json(path: Path) -> dict[str, Any]:
    """The mapping that `write_sealed_json` wrote, without its checksum, which must match. Problems are a ValueError or an OSError."""
    try:
        data = json.loads(path.read_bytes().decode("utf-8"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError(f"it holds a {type(data).__name__}, not a mapping")
    if SEAL not in data:
        raise ValueError("its checksum is missing")
    if data.pop(SEAL) != seal_of(data):
        raise ValueError("its checksum does not match")
    return data


def seal_of(data: Mapping[str, Any]) -> str:
    """The checksum of what a JSON file says, whatever its spaces and the order of its entries.

    >>> seal_of({"a": 1, "b": [2]}) == seal_of({"b": [2], "a": 1})
    True
    """
    return hashlib.sha256(json.dumps(data, sort_keys=True, ensure_ascii=True).encode()).hexdigest()


def digest_of(path: Path) -> str:
    """SHA-256 of a file's bytes."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError as error:
        raise StorageError(f"{path}: cannot be read ({error.strerror or error}).", "Make the run again.") from error
