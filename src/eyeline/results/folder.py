"""The folder of a run, read and written: run.json, tables/*.csv and the example's trace. Read without torch."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import filelock

from eyeline.capture.trace import Trace
from eyeline.capture.trace_file import open_trace
from eyeline.errors import StorageError, TraceError
from eyeline.results.table import Table, open_table
from eyeline.storage.files import write_whole

#: A run's files, within its folder.
ABOUT, TABLES, EXAMPLE = "run.json", "tables", "example.safetensors"
#: The kinds of runs, in the order in which they are shown. One folder holds at most one of each.
KINDS = ("analyse", "syntax", "coreference", "probe", "space", "compare")
#: A second save waits so many seconds for the first.
WAIT = 120


@dataclass(frozen=True)
class RunPart:
    """A run of one kind: what its numbers come from, its tables by name, and the attention on one text of its corpus."""

    about: Mapping[str, Any]
    tables: Mapping[str, Table] = field(repr=False)
    example: Trace | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        return str(self.about.get("kind", "analyse"))


def kind_order(kind: str) -> int:
    """For sorting: the position of a kind in reading order."""
    return KINDS.index(kind) if kind in KINDS else len(KINDS)


def example_file(kind: str) -> str:
    """The name of the file that holds the example of a run of this kind."""
    return EXAMPLE if kind == "analyse" else f"{kind}-{EXAMPLE}"


def kinds_in(folder: Path) -> list[str]:
    """The kinds of runs that a folder holds; none where it holds no finished run."""
    return list(_provenance(folder)) if (folder / ABOUT).is_file() else []


def check_free(folder: Path, kind: str, *, overwrite: bool = False) -> None:
    """Refuse, before an hour is spent, to write a run where one of the same kind is, or a file."""
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{folder} is a file.", "A run is written into a folder: give another name.")
    if not overwrite and kind in kinds_in(folder):
        raise StorageError(f"{folder} holds a run of {kind}.", "Replace it: --overwrite. Or choose another folder.")


def read_parts(folder: Path, leave_out: Collection[str] = ()) -> list[RunPart]:
    """The runs that a folder holds, one of each kind, except those of the kinds that are left out."""
    parts = []
    for kind, about in _provenance(folder).items():
        if kind not in leave_out:
            tables = {name: open_table(folder / TABLES / f"{name}.csv") for name in about["tables"]}
            example = folder / example_file(kind)
            facts = {name: value for name, value in about.items() if name not in ("tables", "figures")}  # lists of files
            parts.append(RunPart(facts, tables, open_trace(example) if example.is_file() else None))
    return parts


def write_parts(folder: Path, parts: Sequence[RunPart]) -> None:
    """Write runs into a folder, run.json last. Runs of other kinds in the folder stay; runs of the same kinds are replaced."""
    with _only_writer(folder):
        there = (folder / ABOUT).is_file()
        before = _tables_in(folder) if there else set()
        kept = read_parts(folder, leave_out=[part.kind for part in parts]) if there else []
        names = [name for part in (*kept, *parts) for name in part.tables]
        twice = sorted({name for name in names if names.count(name) > 1})
        if twice:
            raise TraceError(f"{folder} holds a run of another kind with a table {twice[0]!r}.", "Save this run to a folder of its own.")
        for part in parts:
            for name, table in part.tables.items():
                table.save(folder / TABLES / f"{name}.csv")
            if part.example is not None:
                part.example.save(folder / example_file(part.kind))
        whole = sorted([*kept, *parts], key=lambda part: kind_order(part.kind))
        about = [{**part.about, "tables": list(part.tables)} for part in whole]
        saved = about[0] if len(whole) == 1 else {"parts": {part.kind: facts for part, facts in zip(whole, about, strict=True)}}
        write_whole(folder / ABOUT, [json.dumps(saved, indent=1, ensure_ascii=False).encode(), b"\n"])
        for name in before - {name for part in whole for name in part.tables}:
            (folder / TABLES / f"{name}.csv").unlink(missing_ok=True)


@contextmanager
def _only_writer(folder: Path) -> Iterator[None]:
    """Two commands that end together write one after the other, so that neither's tables are lost."""
    try:
        (folder / TABLES).mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(folder / ".save.lock")
        lock.acquire(timeout=WAIT)
    except filelock.Timeout as error:
        raise StorageError(f"{folder}: another run has been saving here for {WAIT} s.", "Wait for it, or choose another folder.") from error
    except OSError as error:
        raise StorageError(f"{folder}: cannot be written ({error.strerror}).", "Choose another folder, or free some space.") from error
    try:
        yield
    finally:
        lock.release()


def _tables_in(folder: Path) -> set[str]:
    """The tables that run.json names."""
    return {Path(str(name)).name for part in _provenance(folder).values() for name in part["tables"]}


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
