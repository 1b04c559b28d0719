"""A run: its tables, and what they are the tables of. Read back from its folder without torch."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyeline.capture.trace import Trace
from eyeline.errors import TraceError, nearest
from eyeline.results.folder import RunPart, kind_order, read_parts, write_parts
from eyeline.results.table import Table

#: What a run may have counted, in the order in which it is said.
AMOUNTS = ("texts", "documents", "sentences", "mentions", "tokens")


@dataclass(frozen=True)
class Run:
    """Tables by name (`run.table("entropy")`) and provenance (`run.about`). `el.figure(run, "entropy")` draws one of its figures.

    about     kind, model, corpus, options, counts, versions; of a run of several kinds: {"parts": {kind: …}}
    example   the attention on one text of the corpus, to look at heads with
    joined    the runs that a run of several kinds is made of; empty for a run of one kind. See `parts`
    """

    about: Mapping[str, Any]
    tables: Mapping[str, Table] = field(repr=False)
    example: Trace | None = field(default=None, repr=False)
    joined: tuple[Run, ...] = field(default=(), repr=False)

    def __repr__(self) -> str:
        said = "; ".join(f"{', '.join(p.tables)} of {p.about['model']['name']} on {_said(p)}" for p in self.parts.values())
        return f"<eyeline run: {said}>"

    @property
    def parts(self) -> dict[str, Run]:
        """The runs of one kind that this run is made of, by kind: of most runs, itself alone."""
        found = {str(part.about.get("kind", "analyse")): part for part in self.joined or (self,)}
        return {kind: found[kind] for kind in sorted(found, key=kind_order)}

    def join(self, *others: Run) -> Run:
        """A run that holds the tables of several runs of different kinds, to be saved or reported as one."""
        runs = [part for run in (self, *others) for part in run.parts.values()]
        if len(runs) == 1:
            return runs[0]
        kinds = [next(iter(run.parts)) for run in runs]
        twice = sorted({kind for kind in kinds if kinds.count(kind) > 1})
        if twice:
            raise TraceError(f"Two runs of kind {twice[0]!r}.", "A run holds at most one of each kind. Save them to folders of their own.")
        names = [name for run in runs for name in run.tables]
        shared = sorted({name for name in names if names.count(name) > 1})
        if shared:
            raise TraceError(f"Two of these runs have a table {shared[0]!r}.", "Save them to folders of their own.")
        ordered = dict(sorted(zip(kinds, runs, strict=True), key=lambda pair: kind_order(pair[0])))
        about = {"parts": {kind: dict(run.about) for kind, run in ordered.items()}}
        tables = {name: table for run in ordered.values() for name, table in run.tables.items()}
        return Run(about, tables, next((run.example for run in ordered.values() if run.example is not None), None), tuple(ordered.values()))

    def table(self, name: str) -> Table:
        if name not in self.tables:
            why = next((text for part in self.parts.values() if (text := part.about.get("left_out", {}).get(name))), None)
            raise TraceError(f"This run has no table {name!r}.", why or nearest(name, self.tables))
        return self.tables[name]

    def save(self, folder: str | Path) -> Path:
        """Write run.json, tables/*.csv and the example's trace; the folder. `el.write_report(folder)` adds figures and report.html.

        A folder that holds runs of other kinds keeps them; a run of the same kind is replaced.
        """
        write_parts(Path(folder), [RunPart(part.about, part.tables, part.example) for part in self.parts.values()])
        return Path(folder)


def open_run(folder: str | Path) -> Run:
    """Read a run that `save` or a command wrote: all its tables, whatever kinds of runs the folder holds."""
    parts = open_parts(Path(folder))
    return parts[0] if len(parts) == 1 else parts[0].join(*parts[1:])


def open_parts(folder: Path, leave_out: Collection[str] = ()) -> list[Run]:
    """The runs that a folder holds, one of each kind, except those of the kinds that are left out."""
    return [Run(part.about, part.tables, part.example) for part in read_parts(folder, leave_out)]


def _said(run: Run) -> str:
    return f"{amounts(run)} of {run.about['corpus']['name']}"


def amounts(run: Run) -> str:
    """How much a run of one kind has seen, in words.

    >>> amounts(Run({"counts": {"sentences": 2001, "tokens": 34015}}, {}))
    '2,001 sentences, 34,015 tokens'
    >>> amounts(Run({"counts": {"texts": 1, "tokens": 9}}, {}))
    '1 text, 9 tokens'
    """
    counts = run.about["counts"]
    said = [name for name in AMOUNTS if name in counts and not (name == "documents" and "texts" in counts)]
    return ", ".join(f"{counts[name]:,} {name if counts[name] != 1 else name.removesuffix('s')}" for name in said)
