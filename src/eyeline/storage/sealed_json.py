"""A JSON file with a checksum of its own content: read whole, or refused by name."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from eyeline.errors import StorageError
from eyeline.storage.files import write_whole

SEAL = "sha256"


def write_sealed_json(path: Path, data: Mapping[str, Any]) -> None:
    """Write a mapping with its checksum as the last entry."""
    sealed = {**data, SEAL: seal_of(data)}
    write_whole(path, [json.dumps(sealed, indent=1, ensure_ascii=False).encode(), b"\n"])


def read_json(path: Path) -> dict[str, Any]:
    """A JSON file that holds a mapping. Where it has a checksum, the checksum must match. Problems are a ValueError or an OSError."""
    try:
        data = json.loads(path.read_bytes().decode("utf-8"))
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if not isinstance(data, dict):
        raise ValueError(f"it holds a {type(data).__name__}, not a mapping")
    seal = data.pop(SEAL, None)
    if seal is None and "format" in data:
        raise ValueError("its checksum is missing")
    if seal is not None and ("format" not in data or seal != seal_of(data)):
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
