"""Traces kept on disk between runs: the least recently used goes first, a damaged entry is dropped and made again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
import time
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import filelock
import platformdirs
import transformers

from eyeline.capture.trace_file import TRACE, open_trace, save_trace
from eyeline.errors import StorageError
from eyeline.version import __version__

if TYPE_CHECKING:
    from eyeline.capture.sides import Source
    from eyeline.capture.trace import Trace
    from eyeline.models.fingerprint import Fingerprint

log = logging.getLogger("eyeline")

DEFAULT_BYTES = 2_000_000_000


def default_folder() -> Path:
    """EYELINE_CACHE, or the place where this system keeps caches."""
    return Path(os.environ.get("EYELINE_CACHE") or platformdirs.user_cache_path("eyeline") / "traces")


class TraceCache:
    """A folder of traces, one file an entry, named by what it is the trace of.

    Entries are written beside their place and moved into it, so that a process killed half-way leaves nothing that is ever read.
    Any number of processes may share the folder.
    """

    def __init__(self, folder: str | Path | None = None, max_bytes: int = DEFAULT_BYTES) -> None:
        self.folder = default_folder() if folder is None else Path(folder)
        self.max_bytes = max_bytes

    def key(self, fingerprint: Fingerprint, source: Source, options: Mapping[str, Any]) -> str:
        """The name of an entry: a hash of the model's weights and tokeniser, the text, the options and the versions in play."""
        parts = [str(fingerprint), dataclasses.asdict(source), dict(options), TRACE.format, transformers.__version__, __version__]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def get(self, key: str) -> Trace | None:
        """The trace, or None. A damaged entry is dropped with a notice."""
        path = self._path(key)
        if not path.is_file():
            return None
        try:
            trace = open_trace(path)
            os.utime(path)
        except StorageError as error:
            log.warning("A cached trace is dropped and will be made again. %s", error)
            path.unlink(missing_ok=True)
            return None
        except FileNotFoundError:  # another process made room between reading and marking as used
            return trace
        return trace

    def put(self, key: str, trace: Trace) -> None:
        """Keep a trace, and make room for it. A disk that is full costs the cache, not the trace: a notice says so."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            save_trace(trace, path)
            self._make_room()
        except OSError as error:
            log.warning("The trace was not cached. %s", error)

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        entries = self._entries()
        for path in entries:
            path.unlink(missing_ok=True)
        return len(entries)

    def size(self) -> int:
        """Bytes in use."""
        return sum(_size(path) for path in self._entries())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}.safetensors"

    def _entries(self) -> list[Path]:
        return list(self.folder.glob("??/*.safetensors"))

    def _make_room(self) -> None:
        with filelock.FileLock(self.folder / ".lock"):
            aged = sorted((_used(path), _size(path), path) for path in self._entries())
            total = sum(size for _, size, _ in aged)
            for _, size, path in aged:
                if total <= self.max_bytes:
                    break
                path.unlink(missing_ok=True)
                total -= size
            for leftover in self.folder.glob("??/.*"):  # ours, and those of safetensors
                if _used(leftover) < time.time() - 3600:  # a process was killed while it wrote
                    leftover.unlink(missing_ok=True)


def _size(path: Path) -> int:
    try:
        return path.stat().st_size
    except FileNotFoundError:
        return 0


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:
        return 0.0
