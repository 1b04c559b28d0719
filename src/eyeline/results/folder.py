"""The folder of a run, read and written: run.json, tables/*.csv and the example's trace. Read without torch."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from eyeline.capture.trace import Trace
from eyeline.capture.trace_read import open_trace
from eyeline.errors import Advice, StorageError, TraceError
from eyeline.results.facts import KINDS, RunFacts
from eyeline.results.facts_json import FORMAT, facts_from_json, facts_to_json
from eyeline.results.old_tables import with_names_of_today
from eyeline.results.probes.trained import FILE as PROBES_FILE
from eyeline.results.probes.trained import TrainedProbes, open_trained_probes
from eyeline.results.table import Table, open_table
from eyeline.storage.files import make_folder, write_whole
from eyeline.storage.names import path_in
from eyeline.storage.sealed_json import digest_of, read_json, write_sealed_json
from eyeline.storage.together import READY, finish, replacing_together

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
    """A run as run.json lists it. tables: name → the checksum of its file; example: whether it has one. None: run.json does not say.
    probes: whether it has trained probes."""

    facts: RunFacts
    tables: Mapping[str, str | None]
    example: bool | None = None
    probes: bool = False


def example_file(kind: str) -> str:
    """The name of the file that holds the example of a run of this kind."""
    return EXAMPLE if kind == "analyse" else f"{kind}-{EXAMPLE}"


def table_file(folder: Path, name: str) -> Path:
    """The file of a table; a name that leads out of the folder is refused."""
    return path_in(folder / TABLES, name, ".csv")


def kinds_in(folder: Path) -> list[str]:
    """The kinds of runs that a folder holds; none where it holds no finished run."""
    finish(folder, FACTS_FILE)
    return list(_listed(folder)) if (folder / FACTS_FILE).is_file() else []


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
        finish(folder, FACTS_FILE)
        before = _bytes(folder / FACTS_FILE)
        try:
            return [_read_part(folder, kind, entry) for kind, entry in _listed(folder).items() if kind not in leave_out]
        except StorageError as error:
            problem = error
            if _bytes(folder / FACTS_FILE) == before and not os.path.exists(folder / READY):
                break  # else another process has just replaced the run
    raise problem


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
        listed = {kind: _with_digests(folder, entry) for kind, entry in before.items() if kind not in kinds}
        _check_distinct(folder, listed, parts)
        make_folder(new / TABLES)
        for part in parts:
            digests: dict[str, str | None] = {}
            for name, table in part.tables.items():
                text = table.to_csv().encode()
                write_whole(table_file(new, name), [text])
                digests[name] = hashlib.sha256(text).hexdigest()
            if part.example is not None:
                part.example.save(new / example_file(part.kind))
            if part.probes is not None:
                part.probes.save(new / PROBES_FILE)
            listed[part.kind] = _Listed(part.facts, digests, part.example is not None, part.probes is not None)
        for name, write in (files or {}).items():
            write(path_in(new, name))
        listed = {kind: listed[kind] for kind in KINDS if kind in listed}
        entries = {kind: _entry(entry) for kind, entry in listed.items()}
        write_sealed_json(new / FACTS_FILE, {"format": FORMAT, "parts": entries})
    _remove_old(folder, before, listed)


def _entry(listed: _Listed) -> dict[str, Any]:
    """A run as run.json lists it."""
    entry = {**facts_to_json(listed.facts), "tables": dict(listed.tables), "example": listed.example}
    return {**entry, "probes": True} if listed.probes else entry


def _remove_old(folder: Path, before: Mapping[str, _Listed], now: Mapping[str, _Listed]) -> None:
    """Remove the tables and examples of runs that were replaced."""
    names = {name for entry in now.values() for name in entry.tables}
    for kind, entry in before.items():
        for name in entry.tables:
            if name not in names:
                table_file(folder, name).unlink(missing_ok=True)
        if kind in now and not now[kind].example:
            (folder / example_file(kind)).unlink(missing_ok=True)
        if entry.probes and kind in now and not now[kind].probes:
            (folder / PROBES_FILE).unlink(missing_ok=True)


def _read_part(folder: Path, kind: str, listed: _Listed) -> RunPart:
    tables = {name: _read_table(table_file(folder, name), digest) for name, digest in listed.tables.items()}
    example = folder / example_file(kind)
    wanted = example.is_file() if listed.example is None else listed.example
    probes = open_trained_probes(folder / PROBES_FILE) if listed.probes else None
    return RunPart(listed.facts, tables, open_trace(example) if wanted else None, probes)


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except (OSError, ValueError):
        return b""


def _with_digests(folder: Path, listed: _Listed) -> _Listed:
    """The same with a checksum for every table, where the version that wrote it kept none."""
    tables = {name: digest or digest_of(table_file(folder, name)) for name, digest in listed.tables.items()}
    example = (folder / example_file(listed.facts.kind)).is_file() if listed.example is None else listed.example
    return _Listed(listed.facts, tables, example, listed.probes)


def _check_distinct(folder: Path, kept: Mapping[str, _Listed], parts: Sequence[RunPart]) -> None:
    names = [name for tables in (*(entry.tables for entry in kept.values()), *(part.tables for part in parts)) for name in tables]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise TraceError(f"{folder} holds a run of another kind with a table {twice[0]!r}.", "Save this run to a folder of its own.")


def _read_table(path: Path, digest: str | None) -> Table:
    if digest is not None and digest_of(path) != digest:
        raise StorageError(f"{path}: its checksum does not match.", "It was changed or damaged. Make the run again.")
    return with_names_of_today(path.stem, open_table(path))


def _listed(folder: Path) -> dict[str, _Listed]:
    """What run.json lists, by kind, in reading order."""
    try:
        data = read_json(folder / FACTS_FILE)
        form = data.get("format", 1)
        if form not in (1, FORMAT):
            raise ValueError(f"format {form!r}; this version reads 1 and {FORMAT}")
        parts = data["parts"] if "parts" in data else {data.get("kind", "analyse"): data}
        if not isinstance(parts, dict) or not parts:
            raise ValueError("it lists no runs")
        listed = {
            kind: _Listed(facts_from_json(part, form=form), _tables_of(part), _example_of(part), part.get("probes") is True)
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
    return {kind: listed[kind] for kind in KINDS if kind in listed}


def _tables_of(part: Mapping[str, Any]) -> dict[str, str | None]:
    """Table → checksum. The first form of run.json has a list of names."""
    tables = part.get("tables")
    if isinstance(tables, dict) and all(isinstance(digest, str) for digest in tables.values()):
        return dict(tables)
    if isinstance(tables, list) and all(isinstance(name, str) for name in tables):
        return dict.fromkeys(tables)
    raise ValueError("its list of tables is damaged")


def _example_of(part: Mapping[str, Any]) -> bool | None:
    example = part.get("example")
    if example is not None and not isinstance(example, bool):
        raise ValueError("its entry on the example is damaged")
    return example
