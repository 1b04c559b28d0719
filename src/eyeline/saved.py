"""One function that opens whatever `save` or a command wrote."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from eyeline.errors import StorageError
from eyeline.kinds import FILES, RUNS, named
from eyeline.measure.runs.run import Run, open_run
from eyeline.storage.files import as_path
from eyeline.storage.sealed import kind_of

if TYPE_CHECKING:
    from eyeline.look.generation import Generation
    from eyeline.look.trace import Trace
    from eyeline.measure.compare.result import Comparison
    from eyeline.measure.runs.trained import TrainedProbes
    from eyeline.measure.space.result import Space


def open(path: str | Path) -> Trace | Generation | Space | Run | Comparison | TrainedProbes:
    """Open a trace, a generation, a space, trained probes, a run or a comparison, without torch.

    A file is a trace, a generation, a space or a set of trained probes.
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
        return named(FILES.get(kind_of(path) or "", FILES["trace"]))(path)  # type: ignore[no-any-return]
    run = open_run(path)
    kinds = list(run.parts)
    opened = RUNS[kinds[0]].opened if len(kinds) == 1 else ""
    return named(opened)(path, run) if opened else run
