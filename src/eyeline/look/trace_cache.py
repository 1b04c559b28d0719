"""Traces kept on disk: of models that are opened from files, and that nobody has touched since. Found again without torch."""

from __future__ import annotations

import contextlib
import hashlib
import json
import logging
import operator
import os
import platform
import re
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import filelock
import platformdirs

from eyeline.errors import StorageError
from eyeline.look.embedded import embedded
from eyeline.look.trace import EVERYTHING, Selection, Trace, open_trace
from eyeline.storage.checksums import FileFacts, checksum_of, facts_of
from eyeline.storage.files import sweep
from eyeline.text.source import Source
from eyeline.version import __version__

log = logging.getLogger("eyeline")


# ---- The folder: the least recently used trace is removed first, a damaged one is dropped and made again


#: How large the folder may become.
DEFAULT_BYTES = 2_000_000_000


#: What we name entries by. A folder that a user gives may hold other files, which are never removed.
KEY = re.compile(r"[0-9a-f]{32,}")
ENDING = ".safetensors"


class TraceCache:
    """A folder of traces, one file per entry. Any number of processes may share it.

    A file is named by its key: a hash in hexadecimal digits, at least 32; files of other names are left alone. A process that is killed
    half-way leaves nothing that is ever read.

    folder      unless given: EYELINE_CACHE, or the folder where this system keeps caches
    max_bytes   how large it may become
    """

    def __init__(self, folder: str | Path | None = None, max_bytes: int = DEFAULT_BYTES) -> None:
        default = os.environ.get("EYELINE_CACHE") or platformdirs.user_cache_path("eyeline") / "traces"
        self.folder, self.max_bytes = Path(default if folder is None else folder), max_bytes

    def get(self, key: str) -> Trace | None:
        """The trace, or None. A damaged entry is dropped with a notice."""
        path = self._path(key)
        if not path.is_file():
            return None
        try:
            trace = open_trace(path)
        except StorageError as error:
            if path.is_file():  # else another process has removed it
                log.warning("A cached trace is dropped and will be made again. %s", error)
                path.unlink(missing_ok=True)
            return None
        with contextlib.suppress(OSError):  # another process may have removed it
            os.utime(path)
        return trace

    def put(self, key: str, trace: Trace) -> None:
        """Keep a trace, and remove old ones where there is no room. If the disk is full, it is not kept, and a warning says so."""
        path = self._path(key)
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            trace.save(path)
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
        return sum(_used(path)[1] for path in self._entries())

    def _path(self, key: str) -> Path:
        return self.folder / key[:2] / f"{key}{ENDING}"

    def _entries(self) -> list[Path]:
        return [path for path in self.folder.glob(f"??/*{ENDING}") if KEY.fullmatch(path.stem) and path.stem[:2] == path.parent.name]

    def _make_room(self) -> None:
        """Remove the entries that were used least recently, until the others fit."""
        with filelock.FileLock(self.folder / ".lock"):
            entries = sorted((*_used(path), path) for path in self._entries())
            total = sum(size for _, size, _ in entries)
            for _, size, path in entries:
                if total <= self.max_bytes:
                    break
                path.unlink(missing_ok=True)
                total -= size
            for folder in self.folder.glob("??"):
                sweep(folder)


def _used(path: Path) -> tuple[float, int]:
    """When a file was last used, and its bytes; zeros where another process has removed it."""
    try:
        facts = path.stat()
        return facts.st_mtime, facts.st_size
    except FileNotFoundError:
        return 0.0, 0


def as_cache(cache: bool | str | Path | TraceCache) -> TraceCache | None:
    """The cache that is meant: the default one for True, a folder's, one of your own, or none for False."""
    if isinstance(cache, TraceCache):
        return cache
    if isinstance(cache, bool):
        return TraceCache() if cache else None
    return TraceCache(cache)


# ---- The files of a model


@dataclass(frozen=True)
class ModelFiles:
    """The files that a model is opened from, with the facts that they had when this was made."""

    facts: Mapping[Path, FileFacts]

    @classmethod
    def of(cls, *locations: Path) -> ModelFiles | None:
        """The files directly in these folders, and these single files; None where one is missing."""
        try:
            inside = [path for location in locations if location.is_dir() for path in location.iterdir() if path.is_file()]
            return cls({path: facts_of(path) for path in (*inside, *(location for location in locations if not location.is_dir()))})
        except OSError:
            return None

    def are_unchanged(self) -> bool:
        """Whether every file is the one that it was."""
        try:
            return all(facts_of(path) == facts for path, facts in self.facts.items())
        except OSError:
            return False

    def checksums(self) -> list[tuple[str, str]]:
        """The name and SHA-256 of each file, the same wherever the files are."""
        return sorted((path.name, checksum_of(path)) for path in self.facts)


def files_of(name: str) -> ModelFiles | None:
    """The files of an embedded model, a local folder or a GGUF file, as `load` opens them; None where they are not known beforehand."""
    known = embedded(name)
    path = Path(os.path.expanduser(name)) if known is None else known.find()
    if path is None or not (os.path.isdir(path) or os.path.isfile(path)) or _leads_elsewhere(path):  # False for names that no file can have
        return None
    packed = [path] if path.is_file() else [path / known.archive] if known is not None and known.archive else sorted(path.glob("*.gguf"))
    update = [] if known is None or known.update_file is None else [known.update_file]
    if not packed or (path / "config.json").is_file():
        return ModelFiles.of(path, *update)
    try:
        return ModelFiles.of(packed[0], unpacked_folder(packed[0]), *update)
    except OSError:
        return None


def unpacked_folder(packed: Path) -> Path:
    """Where a packed model is unpacked to: named by its path, size and time of change. A missing file is an OSError."""
    facts = packed.stat()
    digest = hashlib.sha256(f"{packed.resolve()} {facts.st_size} {facts.st_mtime_ns}".encode()).hexdigest()
    return platformdirs.user_cache_path("eyeline") / "unpacked" / f"{packed.stem}-{digest[:24]}"


def _leads_elsewhere(folder: Path) -> bool:
    """Whether weights come from other folders too: those of a model that an adapter is for, or files that an index names by a path."""
    if (folder / "adapter_config.json").exists():
        return True
    try:
        indices = [json.loads(path.read_bytes())["weight_map"].values() for path in folder.glob("*.index.json")]
        return any(Path(name).name != name for names in indices for name in names)
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return True  # it cannot be known


# ---- The traces of one model


#: Increased when the same files, text, options and versions give another trace than before.
CONTENT = 4

#: What decides the numbers beside eyeline: tokens come from the second and third.
PACKAGES = ("torch", "transformers", "tokenizers")


@dataclass(frozen=True)
class KeptTraces:
    """The traces on disk of one model.

    files     that it is opened from
    options   how: device, dtype
    """

    cache: TraceCache
    files: ModelFiles
    options: Mapping[str, Any]

    def keys(self, sources: Sequence[Source], wanted: Selection, truncate: bool) -> list[str] | None:
        """The names of the entries, one for each text: hashes of all that decides the trace. None where the arguments will be refused."""
        try:
            request: dict[str, Any] = {"truncate": truncate, "precision": wanted.precision}
            for name in ("layers", "heads", "rows"):
                numbers = getattr(wanted, name)
                request[name] = None if numbers is None else sorted({operator.index(number) for number in numbers})
            request["keep"] = sorted({wanted.keep} if isinstance(wanted.keep, str) else set(wanted.keep))
            same = [self.files.checksums(), dict(self.options), request, _versions(), _machine(), CONTENT]
        except (TypeError, StorageError):
            return None
        return [hashlib.sha256(json.dumps([same, asdict(source)], sort_keys=True, default=str).encode()).hexdigest() for source in sources]

    def traces(
        self,
        keys: Sequence[str],
        name: str,
        record: Callable[[list[int]], list[Trace]],
        may_keep: Callable[[], bool],
    ) -> list[Trace]:
        """A trace for each key: from the disk, or recorded now.

        name       that the model is given
        record     records the traces of these indices
        may_keep   asked when they are recorded: whether they are still what the key says
        """
        on_disk = {index: renamed(trace, name) for index, key in enumerate(keys) if (trace := self.cache.get(key)) is not None}
        missing = [index for index in range(len(keys)) if index not in on_disk]
        new = dict(zip(missing, record(missing), strict=True)) if missing else {}
        if new and may_keep():
            for index, trace in new.items():
                self.cache.put(keys[index], trace)
        return [on_disk[index] if index in on_disk else new[index] for index in range(len(keys))]


def kept_trace(
    model: str,
    source: Source,
    wanted: Selection = EVERYTHING,
    *,
    truncate: bool = False,
) -> Trace | None:
    """The trace that `el.load(model, cache=True).trace(…)` takes from the disk, without torch; None where it would record one.

    Where torch is imported already, something around the pass may be switched on: then only the model can tell.
    """
    files = None if sys.modules.get("torch") is not None else files_of(model)
    if files is None:
        return None
    kept = KeptTraces(TraceCache(), files, opened_with("auto", None))
    keys = kept.keys([source], wanted, truncate)
    trace = None if keys is None else kept.cache.get(keys[0])
    return None if trace is None else renamed(trace, shown_name(model))


def opened_with(device: str, dtype: object) -> dict[str, str]:
    """The options of `load` that decide numbers."""
    return {"device": device, "dtype": str(dtype)}


def shown_name(model: str) -> str:
    """The name that `load` gives to an embedded model, a local folder or a GGUF file."""
    path = Path(os.path.expanduser(model))
    return model if embedded(model) is not None else path.stem if path.is_file() else path.resolve().name


def renamed(trace: Trace, name: str) -> Trace:
    """A trace of the same files, which are now opened under this name."""
    return replace(trace, model=name, about={**trace.about, "model": name})


@cache
def _versions() -> dict[str, str]:
    """The installed versions; of torch with its build."""
    versions = {"eyeline": __version__}
    for package in PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = ""
    return versions


def _machine() -> list[str]:
    """What decides where device="auto" leads, as far as it can be seen without torch: one folder of traces may serve several machines."""
    gpus = sorted(str(path) for pattern in ("nvidia[0-9]*", "kfd", "dxg") for path in Path("/dev").glob(pattern))
    visible = [os.environ.get(name, "") for name in ("CUDA_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES")]
    return [platform.system(), platform.machine(), *visible, *gpus]
