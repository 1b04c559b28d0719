"""The sums of an unfinished run: saved as a whole, continued by --resume, refused where model, corpus or options differ."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path

from eyeline.analyses.corpus.statistic import Statistic
from eyeline.errors import Advice, EyelineError, StorageError
from eyeline.results.facts import RunFacts
from eyeline.results.facts_json import facts_from_json, facts_to_json
from eyeline.storage.files import make_folder
from eyeline.storage.locks import locked
from eyeline.storage.records import from_json, to_json
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed

STATE = FileKind(
    "state",
    format=2,
    written_by="The sums of a run are written by: eyeline analyse CORPUS -o FOLDER",
    otherwise=Advice("Start the run anew, without resume=True.", "Start the run anew, without --resume."),
)
FILE = "statistics.safetensors"
LOCK = ".lock"


@dataclass(frozen=True)
class Position:
    """How far a run is.

    done       groups of documents, and batches of the group after them
    counts     of the documents, texts and tokens folded so far; seconds: how long that took
    streamed   whether maps are never formed; None where it is not known yet
    complete   whether nothing is left to fold
    broke      document → why it was left out, after it broke the worker that read it; retries: shards that were folded again
    texts, tokens   the limits of a batch: a resumed run keeps those that it started with; None in runs of earlier versions
    """

    done: tuple[int, int]
    counts: Mapping[str, int]
    seconds: float
    streamed: bool | None
    complete: bool
    broke: Mapping[str, str] = field(default_factory=dict)
    retries: int = 0
    texts: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class SavedState:
    """The saved statistics, the facts of their run, and how far it was."""

    statistics: list[Statistic]
    facts: RunFacts
    position: Position


def only_run(folder: Path) -> AbstractContextManager[None]:
    """Make the folder and lock it: a second run into it is refused."""
    make_folder(folder)
    advice = "Wait for it, stop it, or choose another folder."
    return locked(folder, LOCK, wait=0, busy="another run is writing here.", advice=advice)


def save_state(folder: Path, statistics: Sequence[Statistic], facts: RunFacts, position: Position) -> None:
    """Write the sums of every statistic, with the facts of the run."""
    arrays = {f"{statistic.name}/{name}": values for statistic in statistics for name, values in statistic.state().items()}
    write_sealed(folder / FILE, STATE, {"facts": facts_to_json(facts), "position": to_json(position)}, arrays)


def remove_state(folder: Path) -> None:
    """Delete the sums that a folder holds. A finished run there stays until the new one is saved."""
    try:
        (folder / FILE).unlink(missing_ok=True)
    except OSError as error:
        raise StorageError(f"{folder / FILE}: cannot be removed ({error.strerror}).", "Choose another folder.") from error


def load_state(folder: Path, statistics: Sequence[Statistic]) -> SavedState | None:
    """What was saved in a folder, read with statistics of the same names; None where nothing was saved."""
    path = folder / FILE
    if not path.exists():
        return None
    sealed = read_sealed(path, STATE)
    try:
        facts = facts_from_json(sealed.header["facts"])
        position = from_json(Position, sealed.header["position"], "position")
        restored = [
            statistic.from_state(
                {name.split("/", 1)[1]: array for name, array in sealed.arrays.items() if name.split("/", 1)[0] == statistic.name}
            )
            for statistic in statistics
        ]
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, EyelineError):
            raise
        raise STATE.damaged(path, f"{type(error).__name__}: {error}") from error
    return SavedState(restored, facts, position)


def check_same(folder: Path, saved: RunFacts, now: RunFacts) -> None:
    """Refuse to continue with sums of another corpus, model or options."""
    for name, before, after, hint in (
        ("corpus", saved.corpus, now.corpus, "The corpus has changed since the run was started."),
        ("model", saved.model, now.model, "The run was started with another model, or its weights have changed."),
        ("options", saved.options, now.options, "The run was started with other options."),
        ("statistics", saved.statistics, now.statistics, "The run was started for other analyses."),
    ):
        saved_json, current_json = (json.dumps(to_json(value), sort_keys=True) for value in (before, after))
        if saved_json != current_json:
            raise StorageError(f"{folder}: {hint}", f"{name} then: {saved_json}", f"{name} now:  {current_json}", "Use another folder.")
