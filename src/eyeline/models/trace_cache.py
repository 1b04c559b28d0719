"""Traces kept on disk between runs: the least recently used is removed first, a damaged entry is dropped and made again."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import logging
import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import platformdirs
import transformers

from eyeline.capture.trace_read import open_trace
from eyeline.errors import StorageError
from eyeline.storage.cache import FolderCache
from eyeline.storage.old_name import old_cache_path
from eyeline.version import __version__

if TYPE_CHECKING:
    from eyeline.capture.sides import Source
    from eyeline.capture.trace import Trace
    from eyeline.models.fingerprint import Fingerprint

log = logging.getLogger("eyeline")

DEFAULT_BYTES = 2_000_000_000
#: Increased when the same model, text and options give another trace than before.
CONTENT = 2


class TraceCache:
    """A folder of traces, one file per entry, named by a hash of model, text and options. Any number of processes may share it.

    folder   unless given: EYELINE_CACHE, or the folder where this system keeps caches; traces of the old name's cache are found too
    """

    def __init__(self, folder: str | Path | None = None, max_bytes: int = DEFAULT_BYTES) -> None:
        default = os.environ.get("EYELINE_CACHE") or platformdirs.user_cache_path("eyeline") / "traces"
        also_read = [old_cache_path("traces")] if folder is None and not os.environ.get("EYELINE_CACHE") else []
        self._files = FolderCache(Path(default if folder is None else folder), max_bytes, ".safetensors", also_read)

    @property
    def folder(self) -> Path:
        return self._files.folder

    @property
    def max_bytes(self) -> int:
        return self._files.max_bytes

    @max_bytes.setter
    def max_bytes(self, value: int) -> None:
        self._files.max_bytes = value

    def key(self, fingerprint: Fingerprint, source: Source, options: Mapping[str, Any]) -> str:
        """The name of an entry: a hash of the model's weights and tokeniser, the text, the options and the versions in play."""
        parts = [str(fingerprint), dataclasses.asdict(source), dict(options), CONTENT, transformers.__version__, __version__]
        return hashlib.sha256(json.dumps(parts, sort_keys=True, default=str).encode()).hexdigest()

    def get(self, key: str) -> Trace | None:
        """The trace, or None. A damaged entry is dropped with a notice."""
        path = self._files.find(key)
        if path is None:
            return None
        try:
            trace = open_trace(path)
        except StorageError as error:
            if path.is_file():  # else another process has removed it
                log.warning("A cached trace is dropped and will be made again. %s", error)
                path.unlink(missing_ok=True)
            return None
        self._files.mark_used(path)
        return trace

    def put(self, key: str, trace: Trace) -> None:
        """Keep a trace, and remove old ones where there is no room. If the disk is full, it is not kept, and a warning says so."""
        try:
            self._files.put(key, trace.save)
        except OSError as error:
            log.warning("The trace was not cached. %s", error)

    def clear(self) -> int:
        """Remove every entry; how many there were."""
        return self._files.clear()

    def size(self) -> int:
        """Bytes in use."""
        return self._files.size()
