"""A run: its tables, and the facts about model and corpus behind them. Read from its folder without torch."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from eyeline.capture.trace import Trace
from eyeline.errors import StorageError, TraceError, nearest
from eyeline.results.facts import KINDS, RunFacts
from eyeline.results.folder import FACTS_FILE, RunPart, read_parts, write_parts
from eyeline.results.probes.trained import TrainedProbes
from eyeline.results.status import statuses
from eyeline.results.table import Table
from eyeline.storage.names import as_path

#: The status of a run without results → what the error says of it.
UNFINISHED = {"running": "is running", "failed": "has failed", "killed": "was stopped"}
#: What a run may have counted, in the order in which it is printed.
AMOUNTS = ("texts", "documents", "sentences", "mentions", "tokens")


@dataclass(frozen=True, init=False, repr=False)
class Run:
    """Tables by name (`run.table("entropy")`) and what they come from (`run.facts`). `el.figure(run, "entropy")` draws a figure of them.

    A run is of one kind (analyse, syntax, coreference, probe, space, compare, circuit), or several runs of different kinds joined: see
    `parts`.
    """

    sections: tuple[RunPart, ...] = field()

    def __init__(
        self, facts: RunFacts, tables: Mapping[str, Table], example: Trace | None = None, probes: TrainedProbes | None = None
    ) -> None:
        """A run of one kind. example: attention on one text of the corpus, to look at heads with; probes: see `el.probes.open_probe`."""
        object.__setattr__(self, "sections", (RunPart(facts, tables, example, probes),))

    def __repr__(self) -> str:
        parts = (f"{', '.join(p.tables)} of {p.facts.model.name} on {amounts(p)} of {p.facts.corpus.name}" for p in self.parts.values())
        return f"<eyeline run: {'; '.join(parts)}>"

    @property
    def facts(self) -> RunFacts:
        """Model, corpus, options, counts, versions. Of a run of several kinds each part has its own."""
        if len(self.sections) > 1:
            raise TraceError(
                "This run is of several kinds, each with facts of its own.", f"Choose one of run.parts: {', '.join(self.parts)}."
            )
        return self.sections[0].facts

    @property
    def tables(self) -> dict[str, Table]:
        """The tables of all parts, by name."""
        return {name: table for part in self.sections for name, table in part.tables.items()}

    @property
    def example(self) -> Trace | None:
        """The attention on one text of the corpus; of several kinds, the first there is."""
        return next((part.example for part in self.sections if part.example is not None), None)

    @property
    def probes(self) -> TrainedProbes | None:
        """The trained probes of a run of kind `probe`: `el.probes.open_probe(run)` applies them to a sentence."""
        return next((part.probes for part in self.sections if part.probes is not None), None)

    @property
    def parts(self) -> dict[str, Run]:
        """The runs of one kind that this run consists of, by kind: of most runs, itself alone."""
        return {part.kind: _run_of(part) for part in self.sections}

    def join(self, *others: Run) -> Run:
        """A run that holds the tables of several runs of different kinds, to be saved or reported as one."""
        return _joined([part for run in (self, *others) for part in run.sections])

    def with_facts(self, **changes: Any) -> Run:
        """The same run of one kind with other facts: `run.with_facts(left_out={})`."""
        return Run(replace(self.facts, **changes), self.tables, self.example, self.probes)

    def table(self, name: str) -> Table:
        if name not in self.tables:
            reason = next((part.facts.left_out[name] for part in self.sections if name in part.facts.left_out), None)
            raise TraceError(f"This run has no table {name!r}.", reason or nearest(name, self.tables))
        return self.tables[name]

    def save(self, folder: str | Path) -> Path:
        """Write run.json, tables/*.csv and the example's trace; the folder. `el.runs.write_report(folder)` adds figures and report.html.

        A folder that holds runs of other kinds keeps them; a run of the same kind is replaced.
        """
        write_parts(as_path(folder), self.sections)
        return Path(folder)


def open_run(folder: str | Path) -> Run:
    """Read a run that `save` or a command wrote: all its tables, whatever kinds of runs the folder holds."""
    path = as_path(folder)
    try:
        return _joined(read_parts(path))
    except StorageError as error:
        if not os.path.isdir(path):
            raise
        unfinished = [f"{kind} {UNFINISHED[status]}" for kind, status in statuses(path).items() if status in UNFINISHED]
        if not unfinished or (path / FACTS_FILE).exists():
            raise
        raise StorageError(f"{path}: not a finished run ({', '.join(unfinished)}).", "Wait until it has ended, or run it again.") from error


def open_parts(folder: Path, leave_out: Collection[str] = ()) -> list[Run]:
    """The runs that a folder holds, one of each kind, except those of the kinds that are left out."""
    return [_run_of(part) for part in read_parts(folder, leave_out)]


def amounts(run: Run) -> str:
    """How much a run of one kind has seen: '2,001 sentences, 34,015 tokens', '1 text, 9 tokens'."""
    counts = run.facts.counts
    names = [name for name in AMOUNTS if name in counts and not (name == "documents" and "texts" in counts)]
    return ", ".join(f"{counts[name]:,} {name if counts[name] != 1 else name.removesuffix('s')}" for name in names)


def _run_of(part: RunPart) -> Run:
    return Run(part.facts, part.tables, part.example, part.probes)


def _joined(parts: Sequence[RunPart]) -> Run:
    """One run of these parts, in reading order."""
    kinds = [part.kind for part in parts]
    twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
    if twice:
        raise TraceError(f"Two runs of kind {twice[0]!r}.", "A run holds at most one of each kind. Save them to folders of their own.")
    names = [name for part in parts for name in part.tables]
    shared = sorted({name for name in names if names.count(name) > 1})
    if shared:
        raise TraceError(f"Two of these runs have a table {shared[0]!r}.", "Save them to folders of their own.")
    ordered = tuple(sorted(parts, key=lambda part: KINDS.index(part.kind)))
    run = _run_of(ordered[0])
    object.__setattr__(run, "sections", ordered)
    return run


def check_run(run: object) -> None:
    """Refuse anything else where a figure takes a run."""
    if not isinstance(run, Run):
        raise TraceError(
            f"A {type(run).__name__} where a run was expected.", "Compute one: el.analyse(model, corpus). Or open one: el.open(folder)."
        )
