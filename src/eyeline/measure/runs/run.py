"""A run: its tables, and the facts about model and corpus behind them. Read from its folder without torch."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

from eyeline.errors import Advice, EyelineError, StorageError, TraceError, nearest
from eyeline.kinds import RUNS
from eyeline.look.trace import TRACE, Trace, open_trace
from eyeline.measure.runs.facts import FORMAT, RunFacts, facts_from_json, facts_to_json
from eyeline.measure.runs.table import COLUMN_TYPES, ColumnType, Table, open_table, types_of
from eyeline.measure.runs.trained import FILE as PROBES_FILE
from eyeline.measure.runs.trained import PROBES, TrainedProbes, open_trained_probes
from eyeline.storage.files import (
    as_path,
    is_half_moved,
    is_locked,
    latest,
    locked_folder,
    make_folder,
    path_in,
    replacing_together,
    write_whole,
)
from eyeline.storage.records import from_json
from eyeline.storage.sealed import FileKind, digest_of, kind_of, read_json, write_sealed_json
from eyeline.words import Words

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
        if not unfinished or _facts_file(path).exists():
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
    ordered = tuple(sorted(parts, key=lambda part: list(RUNS).index(part.kind)))
    run = _run_of(ordered[0])
    object.__setattr__(run, "sections", ordered)
    return run


def check_run(run: object) -> None:
    """Refuse anything else where a figure takes a run."""
    if not isinstance(run, Run):
        raise TraceError(
            f"A {type(run).__name__} where a run was expected.", "Compute one: el.analyse(model, corpus). Or open one: el.open(folder)."
        )


# ---- What a run did not use of its corpus, and why


#: Counts of texts that were left out, each with a message for one and for many.
DROPPED = ("too_long", "unreadable", "no_tree", "broke")

#: Counts of mentions and sentences of a coreference corpus.
MENTIONS = ("mentions_first", "mentions_apart", "mentions_outside", "long_sentences", "unreadable_sentences")

ENGLISH = Words()


def left_out(run: Run, words: Words = ENGLISH) -> list[str]:
    """What a run of one kind left out, counted; of sentences, the first of each kind by its name (`run.facts.dropped` has them all):
    '1 of 9 sentences is not a tree and is not in these numbers. The first: s3, two roots, words 1 and 2.'"""
    counts, dropped = run.facts.counts, run.facts.dropped
    unit = "sentences" if "sentences" in counts else "documents"
    total = words.count(unit, counts.get("documents", counts.get("given", 0)))
    lines = []
    for name in DROPPED:
        if counts.get(name):
            line = _counted(words, name, counts[name], total=total)
            for item, why in list(dropped.get(name, {}).items())[:1]:
                line += f" {words('report.left_out.first', name=item, reason=words.of(why.first_line))}"
            lines.append(line)
    if "mentions_marked" in counts:
        scored = _counted(words, "scored", counts["mentions"], total=words.count("mentions", counts["mentions_marked"]))
        lines.append(" ".join([scored, *(_counted(words, name, counts[name]) for name in MENTIONS if counts.get(name))]))
    return lines


def _counted(words: Words, name: str, n: int, **values: str) -> str:
    return words(f"report.left_out.{name}.{'one' if n == 1 else 'many'}", n=f"{n:,}", **values)


# ---- The folder of a run: run.json, tables/*.csv and the trace of an example


#: A run's files, within its folder.
FACTS_FILE, TABLES, EXAMPLE = "run.json", "tables", "example.safetensors"

#: How often a run is read again when another process replaces it meanwhile.
READS = 5


@dataclass(frozen=True)
class RunPart:
    """A run of one kind: what its numbers come from, its tables by name, the attention on one text of its corpus, and trained probes."""

    facts: RunFacts
    tables: Mapping[str, Table] = field(repr=False)
    example: Trace | None = field(default=None, repr=False)
    probes: TrainedProbes | None = field(default=None, repr=False)

    @property
    def kind(self) -> str:
        return self.facts.kind


@dataclass(frozen=True)
class _Listed:
    """A run as run.json lists it. tables: name → the checksum of its file; example, probes: whether it has them; columns: table → column →
    its type, None where run.json does not say."""

    facts: RunFacts
    tables: Mapping[str, str]
    example: bool
    probes: bool = False
    columns: Mapping[str, Mapping[str, ColumnType]] | None = None


def example_file(kind: str) -> str:
    """The name of the file that holds the example of a run of this kind."""
    return EXAMPLE if kind == "analyse" else f"{kind}-{EXAMPLE}"


def table_file(folder: Path, name: str) -> Path:
    """The file of a table; a name that leads out of the folder is refused."""
    return path_in(folder / TABLES, name, ".csv")


def kinds_in(folder: Path) -> list[str]:
    """The kinds of runs that a folder holds; none where it holds no finished run."""
    return list(_listed(folder)) if _facts_file(folder).is_file() else []


def check_free(folder: Path, kind: str, *, overwrite: bool = False) -> None:
    """Refuse, before the run is computed, a folder that holds a run of the same kind, or a path that is a file."""
    if folder.exists() and not folder.is_dir():
        raise StorageError(f"{folder} is a file.", "A run is written into a folder: give another name.")
    if not overwrite and kind in kinds_in(folder):
        replace = Advice("Replace it: overwrite=True.", "Replace it: --overwrite.")
        raise StorageError(f"{folder} holds a run of {kind}.", replace, "Or choose another folder.")


def read_parts(folder: Path, leave_out: Collection[str] = ()) -> list[RunPart]:
    """The runs that a folder holds, one of each kind, except those of the kinds that are left out."""
    for _ in range(READS):
        before = _state(folder)
        try:
            return [_read_part(folder, kind, entry) for kind, entry in _listed(folder).items() if kind not in leave_out]
        except StorageError as error:
            problem = error
            if _state(folder) == before and not is_half_moved(folder):
                break  # else another process has just replaced the run
    raise problem


def _state(folder: Path) -> tuple[bytes, bool]:
    """What changes when a run is replaced: the bytes of run.json, and whether files are being moved."""
    try:
        return _facts_file(folder).read_bytes(), is_half_moved(folder)
    except (OSError, ValueError):
        return b"", is_half_moved(folder)


def _facts_file(folder: Path) -> Path:
    """Where to read run.json now."""
    return latest(folder, folder / FACTS_FILE)


def write_parts(folder: Path, parts: Sequence[RunPart], files: Mapping[str, Callable[[Path], None]] | None = None) -> None:
    """Write runs into a folder, all files together. Runs of other kinds in the folder stay; runs of the same kinds are replaced.

    files: further files of these runs by name, and the function that writes each.
    """
    for part in parts:
        for name in part.tables:
            table_file(folder, name)  # refused before anything is written
    kinds = [part.kind for part in parts]
    with replacing_together(folder, FACTS_FILE) as new:
        before = _listed(folder) if (folder / FACTS_FILE).is_file() else {}
        listed = {kind: entry for kind, entry in before.items() if kind not in kinds}
        _check_distinct(folder, listed, parts)
        make_folder(new / TABLES)
        for part in parts:
            digests: dict[str, str] = {}
            for name, table in part.tables.items():
                table.save(table_file(new, name))
                digests[name] = digest_of(table_file(new, name))
            if part.example is not None:
                part.example.save(new / example_file(part.kind))
            if part.probes is not None:
                part.probes.save(new / PROBES_FILE)
            columns = {name: types_of(table) for name, table in part.tables.items()}
            listed[part.kind] = _Listed(part.facts, digests, part.example is not None, part.probes is not None, columns)
        for name, write in (files or {}).items():
            write(path_in(new, name))
        listed = {kind: listed[kind] for kind in RUNS if kind in listed}
        entries = {kind: _entry(entry) for kind, entry in listed.items()}
        write_sealed_json(new / FACTS_FILE, {"format": FORMAT, "parts": entries})
    _remove_old(folder, before, listed)


def _entry(listed: _Listed) -> dict[str, Any]:
    """A run as run.json lists it."""
    entry = {**facts_to_json(listed.facts), "tables": dict(listed.tables)}
    if listed.columns is not None:
        entry["columns"] = {name: dict(types) for name, types in listed.columns.items()}
    entry["example"] = listed.example
    return {**entry, "probes": True} if listed.probes else entry


def _remove_old(folder: Path, before: Mapping[str, _Listed], now: Mapping[str, _Listed]) -> None:
    """Remove the tables, examples and probes of runs that were replaced: what is there as it was written, not what somebody put there."""
    names = {name for entry in now.values() for name in entry.tables}
    for kind, entry in before.items():
        for name, digest in entry.tables.items():
            path = table_file(folder, name)
            if name not in names and path.is_file() and digest_of(path) == digest:
                path.unlink(missing_ok=True)
        if kind in now and not now[kind].example:
            remove_kind(folder / example_file(kind), TRACE)
        if entry.probes and kind in now and not now[kind].probes:
            remove_kind(folder / PROBES_FILE, PROBES)


def remove_kind(path: Path, kind: FileKind) -> None:
    """Remove a file of a run that was replaced; what is of another kind is not ours."""
    if kind_of(path) == kind.name:
        path.unlink(missing_ok=True)


def _read_part(folder: Path, kind: str, listed: _Listed) -> RunPart:
    tables = {name: _read_table(folder, name, listed) for name in listed.tables}
    example = open_trace(latest(folder, folder / example_file(kind))) if listed.example else None
    probes = open_trained_probes(latest(folder, folder / PROBES_FILE)) if listed.probes else None
    return RunPart(listed.facts, tables, example, probes)


def _read_table(folder: Path, name: str, listed: _Listed) -> Table:
    path = latest(folder, table_file(folder, name))
    if digest_of(path) != listed.tables[name]:
        raise StorageError(f"{path}: its checksum does not match.", "It was changed or damaged. Make the run again.")
    return open_table(path, None if listed.columns is None else listed.columns[name])


def _check_distinct(folder: Path, kept: Mapping[str, _Listed], parts: Sequence[RunPart]) -> None:
    names = [name for tables in (*(entry.tables for entry in kept.values()), *(part.tables for part in parts)) for name in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TraceError(f"{folder} holds a run of another kind with a table {twice[0]!r}.", "Save this run to a folder of its own.")


def _listed(folder: Path) -> dict[str, _Listed]:
    """What run.json lists, by kind, in reading order."""
    try:
        data = read_json(_facts_file(folder))
        if data.get("format") != FORMAT:
            raise ValueError(f"format {data.get('format')!r}; this version reads {FORMAT}")
        parts = data.get("parts")
        if not isinstance(parts, dict) or not parts:
            raise ValueError("it lists no runs")
        listed = {
            kind: _Listed(facts_from_json(part), _tables_of(part), _example_of(part), part.get("probes") is True, _columns_of(part))
            for kind, part in parts.items()
        }
        wrong = [kind for kind, entry in listed.items() if entry.facts.kind != kind]
        if wrong:
            raise ValueError(f"a run of {listed[wrong[0]].facts.kind} listed as {wrong[0]}")
    except (OSError, ValueError) as error:
        if isinstance(error, StorageError):
            raise
        reason = (error.strerror if isinstance(error, OSError) else None) or error
        raise StorageError(
            f"{folder}: not a finished run ({FACTS_FILE}: {reason}).", "A run's folder is written by: eyeline analyse CORPUS -o FOLDER"
        ) from error
    return {kind: listed[kind] for kind in RUNS if kind in listed}


def _tables_of(part: Mapping[str, Any]) -> dict[str, str]:
    """Table → checksum."""
    tables = part.get("tables")
    if isinstance(tables, dict) and all(isinstance(digest, str) for digest in tables.values()):
        return dict(tables)
    raise ValueError("its list of tables is damaged")


def _columns_of(part: Mapping[str, Any]) -> dict[str, dict[str, ColumnType]] | None:
    """Table → column → its type. None: a version wrote it that kept no types."""
    columns = from_json(Mapping[str, Mapping[str, str]] | None, part.get("columns"), "columns")
    if columns is not None and (
        set(columns) != set(part["tables"]) or any(kind not in COLUMN_TYPES for types in columns.values() for kind in types.values())
    ):
        raise ValueError("its list of columns is damaged")
    return columns  # type: ignore[no-any-return]


def _example_of(part: Mapping[str, Any]) -> bool:
    example = part.get("example")
    if not isinstance(example, bool):
        raise ValueError("its entry on the example is damaged")
    return example


# ---- The status of runs in a folder, and the lock that lets one run of a kind write there at a time


Status = Literal["running", "finished", "failed", "killed"]


@contextmanager
def writing_run(folder: Path, kind: str, *, overwrite: bool = False) -> Iterator[None]:
    """Hold a folder for a run of one kind while it is computed and saved. A second run of the same kind is refused.

    What the folder held before stays until the new run is saved. The system releases the lock when the process ends, however it ends.
    """
    check_free(folder, kind, overwrite=overwrite)
    is_new = not folder.exists()
    busy = f"another run of {kind} is writing here."
    with locked_folder(folder, f".{kind}.lock", wait=0, busy=busy, advice="Wait for it, stop it, or choose another folder."):
        check_free(folder, kind, overwrite=overwrite)  # another run may have ended since
        _mark(folder, kind, "running")
        try:
            yield
        except BaseException as error:
            if is_new and isinstance(error, EyelineError) and _is_empty(folder, kind):
                _marker(folder, kind).unlink(missing_ok=True)
            else:
                _mark(folder, kind, "failed" if isinstance(error, Exception) else "killed")
            raise
        _marker(folder, kind).unlink(missing_ok=True)


def _is_empty(folder: Path, kind: str) -> bool:
    """Whether a run has written nothing yet, besides its lock and its status."""
    return set(folder.iterdir()) <= {_marker(folder, kind), folder / f".{kind}.lock"}


def statuses(folder: Path) -> dict[str, Status]:
    """Kind → the status of the latest run of that kind in a folder.

    While a new run is written, an earlier finished run of that kind can still be opened.
    """
    finished = kinds_in(folder)
    result: dict[str, Status] = {}
    for kind in RUNS:
        if _marker(folder, kind).is_file():
            result[kind] = _marked(folder, kind)
        elif kind in finished:
            result[kind] = "finished"
    return result


def _marker(folder: Path, kind: str) -> Path:
    return folder / f".{kind}.status.json"


def _mark(folder: Path, kind: str, status: Status) -> None:
    write_whole(_marker(folder, kind), [json.dumps({"status": status}).encode()])


def _marked(folder: Path, kind: str) -> Status:
    """What the file says; a run that says that it is running, but does not hold the lock, was killed."""
    try:
        data = json.loads(_marker(folder, kind).read_bytes())
        status = data.get("status") if isinstance(data, dict) else None
    except (OSError, ValueError, RecursionError):
        status = None
    if status == "failed":
        return "failed"
    return "running" if status == "running" and is_locked(folder / f".{kind}.lock") else "killed"
