"""What a run found: its tables, and what they are the tables of. Read back from its folder without torch."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyeline.capture.trace import Trace
from eyeline.capture.trace_file import open_trace
from eyeline.errors import StorageError, TraceError, nearest
from eyeline.results.table import Table, open_table

#: A run's files, within its folder.
ABOUT, TABLES, EXAMPLE = "run.json", "tables", "example.safetensors"
#: The kinds of runs, in the order in which a report shows them. One folder holds at most one of each.
KINDS = ("analyse", "syntax", "coreference", "probe", "space", "compare")
#: What a run may have counted, in the order in which it is said.
AMOUNTS = ("texts", "documents", "sentences", "mentions", "tokens")


@dataclass(frozen=True)
class Run:
    """Tables by name (`run.table("entropy")`), figures of them (`run.figure("entropy")`), and provenance (`run.about`).

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
        return {kind: found[kind] for kind in sorted(found, key=_order)}

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
        ordered = dict(sorted(zip(kinds, runs, strict=True), key=lambda pair: _order(pair[0])))
        about = {"parts": {kind: dict(run.about) for kind, run in ordered.items()}}
        tables = {name: table for run in ordered.values() for name, table in run.tables.items()}
        return Run(about, tables, next((run.example for run in ordered.values() if run.example is not None), None), tuple(ordered.values()))

    def table(self, name: str) -> Table:
        if name not in self.tables:
            why = next((text for part in self.parts.values() if (text := part.about.get("left_out", {}).get(name))), None)
            raise TraceError(f"This run has no table {name!r}.", why or nearest(name, self.tables))
        return self.tables[name]

    def figure(self, name: str) -> Any:
        """A Plotly figure, by name: average_attention, entropy, importance, head_map, distances, syntax, …"""
        from eyeline.plots.figures import figure

        return figure(self, name)

    def save_figure(self, name: str, path: str | Path) -> None:
        """Draw one figure into a .png, .svg or .pdf file, where a Chromium is present."""
        from eyeline.plots.pictures import save_pictures

        save_pictures({Path(path): self.figure(name)})

    def save(self, folder: str | Path) -> Path:
        """Write run.json, tables/*.csv, figures/*.html, views/*.html and report.html; the report's path.

        A folder that holds runs of other kinds keeps them, and report.html shows them all; a run of the same kind is replaced.
        """
        from eyeline.hosts.report.write import save_run

        return save_run(self, Path(folder))


def open_run(folder: str | Path) -> Run:
    """Read a run that `save` or a command wrote: all its tables, whatever kinds of runs the folder holds."""
    parts = open_parts(Path(folder))
    return parts[0] if len(parts) == 1 else parts[0].join(*parts[1:])


def kinds_in(folder: Path) -> list[str]:
    """The kinds of runs that a folder holds; none where it holds no finished run."""
    return list(_provenance(folder)) if (folder / ABOUT).is_file() else []


def open_parts(folder: Path, leave_out: Collection[str] = ()) -> list[Run]:
    """The runs that a folder holds, one of each kind, except those of the kinds that are left out."""
    found = []
    for kind, about in _provenance(folder).items():
        if kind not in leave_out:
            tables = {name: open_table(folder / TABLES / f"{name}.csv") for name in about["tables"]}
            example = folder / example_file(kind)
            about = {name: value for name, value in about.items() if name not in ("tables", "figures")}  # the list of files is the folder's
            found.append(Run(about, tables, open_trace(example) if example.is_file() else None))
    return found


def files_of(folder: Path, figures: str) -> set[Path]:
    """The tables and figures that run.json names, within the folder."""
    parts = _provenance(folder).values()
    tables = {Path(TABLES) / f"{Path(str(name)).name}.csv" for part in parts for name in part["tables"]}
    return tables | {Path(figures) / f"{Path(str(name)).name}.html" for part in parts for name in part.get("figures", [])}


def example_file(kind: str) -> str:
    return EXAMPLE if kind == "analyse" else f"{kind}-{EXAMPLE}"


def check_free(folder: Path, kind: str, *, overwrite: bool = False) -> None:
    """Refuse, before an hour is spent, to write a run where one of the same kind is, or a file."""
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{folder} is a file.", "A run is written into a folder: give another name.")
    if not overwrite and kind in kinds_in(folder):
        raise StorageError(f"{folder} holds a run of {kind}.", "Replace it: --overwrite. Or choose another folder.")


def _provenance(folder: Path) -> dict[str, dict[str, Any]]:
    """run.json by kind; one written for a single kind is that kind's alone."""
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        parts = about["parts"] if "parts" in about else {about.get("kind", "analyse"): about}
        if not all(isinstance(part["tables"], list) for part in parts.values()):
            raise KeyError("tables")
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise StorageError(
            f"{folder}: not a finished run ({error}).", "A run's folder is written by: eyeline analyse CORPUS -o FOLDER"
        ) from error
    return parts


def _order(kind: str) -> int:
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


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
