"""The checksums of files that are read again and again, such as a model's weights: remembered until a file changes."""

from __future__ import annotations

import contextlib
import hashlib
import os
import time
from pathlib import Path

import platformdirs

from eyeline.errors import StorageError
from eyeline.storage.sealed import digest_of, read_json, write_sealed_json

#: A checksum is remembered where the file's last change is this many seconds ago: within a tick of the clock a file may change once more.
UNCHANGED_SECONDS = 3.0

#: What tells whether a file has changed: device, inode, size, and the times of its last change of content and of state in nanoseconds.
FileFacts = tuple[int, int, int, int, int]


def facts_of(path: Path) -> FileFacts:
    """The facts of the file that a path leads to. A missing one is an OSError."""
    facts = path.stat()
    return facts.st_dev, facts.st_ino, facts.st_size, facts.st_mtime_ns, facts.st_ctime_ns


def checksum_of(path: Path) -> str:
    """SHA-256 of a file's bytes: the remembered one while the file's facts are those with which it was computed."""
    known = _record_of(path)
    try:
        before = facts_of(path)
        with contextlib.suppress(OSError, ValueError, KeyError):
            record = read_json(known)
            if record["path"] == str(path) and tuple(record["facts"]) == before:
                return str(record["sha256 of the file"])
        digest = digest_of(path)
        if facts_of(path) != before:
            raise StorageError(f"{path} was changed while it was read.", "Call it again when the file is complete.")
    except OSError as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{path}: cannot be read ({error.strerror or error}).", "Is it still there?") from error
    if time.time_ns() - max(before[3:]) > UNCHANGED_SECONDS * 1e9:
        with contextlib.suppress(OSError):  # where nothing can be written, it is computed again the next time
            known.parent.mkdir(parents=True, exist_ok=True)
            write_sealed_json(known, {"format": 1, "path": str(path), "facts": list(before), "sha256 of the file": digest})
    return digest


def _record_of(path: Path) -> Path:
    name = hashlib.sha256(os.fsencode(path)).hexdigest()
    return platformdirs.user_cache_path("eyeline") / "checksums" / f"{name}.json"
