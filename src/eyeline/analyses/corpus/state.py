"""A run's folder: one run at a time, its sums written whole, refused when they belong to something else."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import filelock
import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from eyeline.analyses.corpus.statistic import Statistic
from eyeline.errors import StorageError
from eyeline.storage.files import replacing
from eyeline.storage.sealed import checksum

FORMAT = 1
FILE = "statistics.safetensors"
LOCK = ".lock"


@contextmanager
def only_run(folder: Path) -> Iterator[None]:
    """Hold the folder: a second run into it is refused. The system lets go when the process ends, however it ends."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / LOCK)
        lock.acquire(timeout=0)
    except filelock.Timeout as error:
        raise StorageError(f"{folder}: another run is writing here.", "Wait for it, stop it, or choose another folder.") from error
    except OSError as error:
        reason = error.strerror or str(error)
        raise StorageError(f"{folder}: cannot be written ({reason}).", "Choose another place, or make room.") from error
    try:
        yield
    finally:
        lock.release()


def save_state(folder: Path, statistics: Sequence[Statistic], about: Mapping[str, Any]) -> None:
    """Write the sums of every statistic, and what they are the sums of."""
    arrays = {f"{one.name}/{name}": np.ascontiguousarray(values) for one in statistics for name, values in one.state().items()}
    header = {"format": FORMAT, **about, "crc32": {name: checksum(array) for name, array in arrays.items()}}
    with replacing(folder / FILE) as beside:
        save_file(arrays, beside, metadata={"eyeline": json.dumps(header)})


def load_state(folder: Path, statistics: Sequence[Statistic]) -> tuple[list[Statistic], dict[str, Any]] | None:
    """The statistics as they were saved and the header beside them; None where nothing was saved."""
    path = folder / FILE
    if not path.exists():
        return None
    try:
        with safe_open(path, framework="numpy") as file:
            header = json.loads((file.metadata() or {}).get("eyeline", "null"))
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError, ValueError) as error:
        raise StorageError(f"{path}: cannot be read ({error}).", "It is damaged. Start the run anew, without --resume.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        raise StorageError(f"{path}: not the statistics of a run of this version.", "Start the run anew, without --resume.")
    if {name: checksum(array) for name, array in arrays.items()} != header["crc32"]:
        raise StorageError(f"{path}: its numbers are damaged; a checksum does not match.", "Start the run anew, without --resume.")
    found = [
        one.from_state({name.split("/", 1)[1]: array for name, array in arrays.items() if name.split("/", 1)[0] == one.name})
        for one in statistics
    ]
    return found, header


def check_same(folder: Path, saved: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with sums of another corpus, model or options."""
    for what, hint in (
        ("corpus", "The corpus has changed since the run began."),
        ("model", "The run was begun with another model, or its weights have changed."),
        ("options", "The run was begun with other options."),
        ("statistics", "The run was begun for other analyses."),
    ):
        if saved.get(what) != now[what]:
            raise StorageError(
                f"{folder}: {hint}",
                f"then: {json.dumps(saved.get(what))}",
                f"now:  {json.dumps(now[what])}",
                "Start anew in another folder.",
            )
