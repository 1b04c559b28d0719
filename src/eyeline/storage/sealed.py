"""Arrays and a JSON header in one safetensors file, sealed by checksums: written whole or not at all, read whole or refused by name."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from eyeline.errors import StorageError
from eyeline.storage.files import replacing

HEADER, HEADER_CRC = "eyeline", "eyeline-crc32"


@dataclass(frozen=True)
class Kind:
    """What a file holds.

    name      "trace", "space"
    format    raised when the layout of the file changes; a file of another version is refused by name
    made_by   how one is made
    else_try  what may open a safetensors file of other people
    """

    name: str
    format: int
    made_by: str
    else_try: str

    @property
    def again(self) -> str:
        return f"Make the {self.name} again."


def write_sealed(path: str | Path, kind: Kind, header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> None:
    """Write arrays and what is to be known of them. A full disk or a missing folder is a StorageError, and leaves no file behind."""
    whole = {"format": kind.format, "kind": kind.name, **header, "crc32": {name: checksum(array) for name, array in arrays.items()}}
    text = json.dumps(whole, ensure_ascii=True)
    with replacing(path) as temporary:
        save_file(dict(arrays), temporary, metadata={HEADER: text, HEADER_CRC: str(zlib.crc32(text.encode()))})


def read_sealed(path: Path, kind: Kind) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The header and the arrays of a file of this kind."""
    if not path.is_file():
        raise StorageError(f"{path}: no such file.", kind.made_by)
    try:
        with safe_open(path, framework="numpy") as file:
            header = _header(path, kind, file.metadata())
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"{path}: cannot be read as safetensors ({error}).", "It is damaged, truncated or another kind of file."
        ) from error
    for name, expected in header.get("crc32", {}).items():
        if name not in arrays or checksum(arrays[name]) != expected:
            raise StorageError(f"{path}: the array {name!r} is damaged.", f"Its checksum does not match. {kind.again}")
    return header, arrays


def checksum(array: np.ndarray) -> int:
    """CRC-32 of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _header(path: Path, kind: Kind, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    if not metadata or HEADER not in metadata:
        raise StorageError(f"{path}: a safetensors file, but not a {kind.name} of eyeline.", kind.else_try)
    try:
        header = json.loads(metadata[HEADER])
    except json.JSONDecodeError as error:
        raise StorageError(f"{path}: its header is damaged ({error}).", kind.again) from error
    if not isinstance(header, dict):
        raise StorageError(f"{path}: its header is damaged (it is no record).", kind.again)
    held, written_in = header.get("kind", "file"), header.get("format")
    if (held, written_in) != (kind.name, kind.format):
        raise StorageError(
            f"{path}: holds a {held} in format {written_in}; needed: a {kind.name} in format {kind.format}.",
            "Make it again, or use the version that wrote it.",
        )
    if metadata.get(HEADER_CRC) != str(zlib.crc32(metadata[HEADER].encode())):
        raise StorageError(f"{path}: its header is damaged (its checksum does not match).", kind.again)
    return header
