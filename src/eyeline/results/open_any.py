"""One function that opens whatever `save` or a command wrote."""

from __future__ import annotations

from pathlib import Path

from eyeline.capture.trace import Trace
from eyeline.capture.trace_read import open_trace
from eyeline.errors import StorageError
from eyeline.results.comparison import FILES, Comparison
from eyeline.results.probes.trained import PROBES, TrainedProbes, open_trained_probes
from eyeline.results.run import Run, open_run
from eyeline.results.space.file import FILE, SPACE
from eyeline.results.space.read import open_space
from eyeline.results.space.space import Space
from eyeline.storage.names import as_path
from eyeline.storage.sealed import kind_of


def open(path: str | Path) -> Trace | Space | Run | Comparison | TrainedProbes:
    """Open a trace, a space, trained probes, a run or a comparison, without torch.

    A file is a trace, a space or a set of trained probes.
    A folder is the space or comparison that it holds alone, else a run: its tables, of all kinds.
    """
    path = as_path(path)
    try:
        is_folder, exists = path.is_dir(), path.exists()
    except (OSError, ValueError):
        is_folder = exists = False
    if not exists:
        raise StorageError(
            f"{str(path)[:200]!r}: no such file or folder.", "Give what trace.save, run.save, space.save or a command wrote."
        )
    if not is_folder:
        kind = kind_of(path)
        if kind == PROBES.name:
            return open_trained_probes(path)
        return open_space(path) if kind == SPACE.name else open_trace(path)
    run = open_run(path)
    kinds = list(run.parts)
    if kinds == ["space"] and (path / FILE).is_file():
        return open_space(path)
    if kinds == ["compare"]:
        first, second = (path / name for name in FILES)
        return Comparison(run, (open_space(first), open_space(second)) if first.is_file() and second.is_file() else None)
    return run
