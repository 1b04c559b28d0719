"""Runs that are killed or written by two at once, and run folders that were written to hurt."""

from __future__ import annotations

import json
import multiprocessing
import os
import random
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import eyeline as el
from eyeline.measure.runs.run import FACTS_FILE, kinds_in, statuses
from eyeline.measure.statistics import loop
from eyeline.storage.files import READY
from eyeline.storage.sealed import SEAL, write_sealed_json
from tests.attack.damage import run_of
from tests.attack.family import Family
from tests.laws.statistics import new_tiny_model
from tests.measure.runs.test_run_parts import made_up

TEXTS = [f"the cat sat on the mat and {'ran ' * (n % 9)}home ." for n in range(300)]
#: Put in the place of every value of run.json, one at a time.
HOSTILE: tuple[Any, ...] = (
    "../../escaped",
    "/tmp/escaped",
    "a/b",
    "a\0b",
    "\x1b[31m",
    "",
    None,
    -1,
    1e308,
    [],
    {},
    ["../x"],
    {"../x": "y"},
    "x" * 5000,
)


def attack_runs(folder: Path, count: int) -> list[Family]:
    """Killed runs go on to the same numbers; killed and concurrent saves leave one whole run; hostile run.json stays in its folder."""
    model = new_tiny_model()
    return [
        attack_resume(folder / "killed", model, count),
        attack_overwrite(folder / "overwritten", model, count),
        attack_together(folder / "together", model, max(2, count // 4)),
        attack_facts(folder / "hostile", model),
        attack_links(folder / "links", model),
        attack_neighbours(folder / "neighbours", model),
        attack_cells(folder / "cells"),
    ]


def attack_resume(folder: Path, model: el.Model, count: int) -> Family:
    """SIGKILL at a random moment, then the same call with resume=True."""
    family = Family("runs killed while they measure, then resumed", "the numbers of a run that was not killed")
    draw = random.Random(0)  # noqa: S311 - a seeded choice, not a secret
    saved_every, loop.SAVE_EVERY = loop.SAVE_EVERY, 0.0  # the children inherit it: sums are saved after every batch
    try:
        started = time.monotonic()
        expected = tables(measure(model, folder / "whole"))
        seconds = time.monotonic() - started
        for number in range(count):
            path = folder / str(number)
            killed(lambda path=path: measure(model, path), after=draw.uniform(0, seconds))

            def attack(path: Path = path) -> str | None:
                resumed = tables(measure(model, path, resume=True))
                return None if resumed == expected else "other numbers after --resume"

            family.check(f"kill {number}", attack)
    finally:
        loop.SAVE_EVERY = saved_every
    return family


def attack_overwrite(folder: Path, model: el.Model, count: int) -> Family:
    """SIGKILL while a run is saved over another one of the same kind."""
    family = Family("saves killed half-way over an older run", "one of the two runs, whole, or our error")
    draw = random.Random(1)  # noqa: S311 - a seeded choice, not a secret
    old, new = (
        el.analyse(model, TEXTS[:4], [el.statistics.Entropy(), el.statistics.AverageAttention()], seed=seed, limit=3) for seed in (0, 1)
    )
    run_folder = folder / "run"
    started = time.monotonic()
    new.save(run_folder)
    seconds, allowed = time.monotonic() - started, [run_of(run_folder)]
    for number in range(count * 2):
        shutil.rmtree(run_folder)
        old.save(run_folder)
        if len(allowed) == 1:
            allowed.append(run_of(run_folder))
        killed(lambda: new.save(run_folder), after=draw.uniform(0, 1.5 * seconds))
        family.check(f"kill {number}", lambda: None if run_of(run_folder) in allowed else "a mixture of two runs")
        new.save(run_folder)
        family.check(f"saved again after kill {number}", lambda: None if run_of(run_folder) == allowed[0] else "not the run that was saved")
    return family


def attack_together(folder: Path, model: el.Model, count: int) -> Family:
    """Four processes save into one folder at once."""
    family = Family("runs saved into one folder at once", "one of the runs, whole")
    runs = [el.analyse(model, TEXTS[:6], [el.statistics.Entropy()], seed=seed, limit=4) for seed in range(4)]
    allowed = []
    for number, run in enumerate(runs):
        run.save(folder / f"alone{number}")
        allowed.append(run_of(folder / f"alone{number}"))
    for number in range(count):
        path = folder / f"shared{number}"
        children = [_fork(lambda run=run, path=path: run.save(path)) for run in runs]
        for child in children:
            child.join()
        family.check(f"round {number}", lambda path=path: None if run_of(path) in allowed else "a mixture of runs")
    return family


def attack_links(folder: Path, model: el.Model) -> Family:
    """Every file and folder of a run, and those that a killed save leaves, as a link to another run or to a folder of texts."""
    family = Family("links out of a run folder", "our error, or the run itself; nothing outside read, moved or written")
    run, other, texts = (folder / name for name in ("run", "other", "texts"))
    el.analyse(model, TEXTS[:4], [el.statistics.Entropy()]).save(run)
    el.runs.write_report(run)
    new = el.analyse(model, TEXTS[4:8], [el.statistics.Entropy()])
    new.save(other)
    (texts / "tables").mkdir(parents=True)
    (texts / "tables" / "thesis.txt").write_text("mine")
    good = run_of(run)
    names = [path.relative_to(run) for path in sorted(run.rglob("*"))]
    reads = (run_of, lambda path: el.open(path), lambda path: kinds_in(path), lambda path: statuses(path))
    writes = (lambda path: new.save(path), lambda path: el.runs.write_report(path))
    for name in [*names, Path(READY), Path(".eyeline-0123456789abcdef.part"), Path(".save.lock"), Path(".analyse.lock")]:
        for target in (other, texts, other / name, Path("/proc/self/mem")):
            for number, act in enumerate((*reads, *writes)):
                copy = folder / "copy"
                shutil.rmtree(copy, ignore_errors=True)
                shutil.copytree(run, copy)
                shutil.rmtree(copy / name) if (copy / name).is_dir() else (copy / name).unlink(missing_ok=True)
                (copy / name).symlink_to(target)
                but = copy if act in writes else folder / "nothing"
                before = contents(folder, but)

                def attack(act: Callable[[Path], object] = act, before: object = before, but: Path = but) -> str | None:
                    seen = None
                    with suppress(el.EyelineError):
                        seen = act(folder / "copy")
                    if contents(folder, but) != before:
                        return f"something was changed {'outside' if act in writes else 'by reading'}"
                    return "another run was read" if act is run_of and seen not in (None, good) else None

                family.check(f"{name} → {target.name}, {number}", attack)
    return family


def attack_neighbours(folder: Path, model: el.Model) -> Family:
    """Files and folders of other people beside a run, old and with names that look like ours."""
    family = Family("files of other people beside what we save", "they stay")
    names = (
        ".tmp", ".tmpAbCdEf", ".tmp_mine", ".x.part", ".run.json.0123456789abcdef.part", "0123456789abcdef.part", ".0123456789abcdef.part",
        ".ready", ".eyeline", ".eyeline-theirs.part", ".eyeline-0123.part", ".eyeline-0123456789ABCDEF.part", "pruning", "tables/x.csv",
        "figures/causes.html", "views/x.html", "compare-a.safetensors", "probes.safetensors", "syntax-example.safetensors",
        "ab/model.safetensors", "ab/abcdef.safetensors", "tables/.tmpAbCdEf", "figures/.x.part",
    )  # fmt: skip
    run = el.analyse(model, TEXTS[:4], [el.statistics.Entropy()])
    trace = model.trace(TEXTS[0])
    acts: dict[str, Callable[[Path], object]] = {
        "a run": lambda path: run.save(path),
        "a run twice": lambda path: (run.save(path), run.save(path)),
        "a report": lambda path: (run.save(path), el.runs.write_report(path)),
        "an analysis": lambda path: el.analyse(model, TEXTS[:4], [el.statistics.Entropy()], folder=path).save(path),
        "causes": lambda path: el.causes(model, TEXTS[:2], folder=path, layers=[0]).save(path),
        "a trace": lambda path: trace.save(path / "x.safetensors"),
        "a cache": lambda path: keep_and_clear(el.traces.TraceCache(path, max_bytes=1), trace),
    }
    for what, act in acts.items():
        path = folder / what.replace(" ", "-")
        for name in names:
            theirs = path / name if "." in Path(name).name[1:] else path / name / "thesis.txt"
            theirs.parent.mkdir(parents=True, exist_ok=True)
            theirs.write_text("mine")
            for each in (theirs, theirs.parent):
                os.utime(each, (1, 1))
        try:
            act(path)
        except el.EyelineError:  # a model of this kind has no such analysis
            family.check(what, lambda: None)
        for name in names:
            theirs = path / name if "." in Path(name).name[1:] else path / name / "thesis.txt"
            family.check(f"{what}: {name}", lambda theirs=theirs: None if theirs.read_text() == "mine" else "it is another file")
    return family


def keep_and_clear(cache: el.traces.TraceCache, trace: el.Trace) -> None:
    for letter in "ab":
        cache.put(letter * 64, trace)
    cache.clear()


CELLS = (
    "\r", "a\rb", "\r\n", "\n", '"', "'", "''", "=1", "'=1", "007", "1_000", "１２", "nan", "inf", "", " 1", "1 ", "-0", "1e5", "True",
    "\0", "\ufeff", "\u2028",
)  # fmt: skip


def attack_cells(folder: Path) -> Family:
    """Texts in tables that a reader of CSV could take for something else."""
    family = Family("texts that look like numbers, ends of lines or formulas", "the same texts, as texts")
    for number, cells in enumerate([*((cell,) for cell in CELLS), *((cell, "cat") for cell in CELLS), CELLS]):
        table = el.runs.Table({"a": list(cells), "b": list(cells)[::-1], **{f"c{cell}": [1.5] * len(cells) for cell in cells}})

        def attack(table: el.runs.Table = table, path: Path = folder / str(number)) -> str | None:
            el.Run(made_up("syntax", {}).facts, {"t": table}).save(path)
            return None if el.runs.open_run(path).table("t").columns == table.columns else "other cells came back"

        family.check(repr(cells)[:60], attack)
    return family


def contents(folder: Path, but: Path) -> dict[Path, object]:
    """Every file below a folder with its bytes, links not followed; not those below `but`."""
    paths = [path for path in folder.rglob("*") if but != path and but not in path.parents]
    return {path: os.readlink(path) if path.is_symlink() else path.read_bytes() if path.is_file() else None for path in paths}


def attack_facts(folder: Path, model: el.Model) -> Family:
    """run.json with a hostile value in the place of each of its own, its checksum made right again."""
    family = Family("run.json written to hurt", "our error, or a run that stays within its folder")
    el.analyse(model, TEXTS[:4], [el.statistics.Entropy()]).save(folder / "run")
    file = folder / "run" / FACTS_FILE
    good = json.loads(file.read_text(encoding="utf-8"))
    good.pop(SEAL, None)
    outside = folder / "outside"
    for number, (where, data) in enumerate(hostile(good)):
        target = folder / "copies" / str(number)
        write_sealed_json(file, data)
        before = everything(folder, but=folder / "copies")

        def attack(target: Path = target, before: set[Path] = before) -> str | None:
            run = el.runs.open_run(folder / "run")
            repr(run), [part.facts for part in run.parts.values()]
            run.save(target)
            new = everything(folder, but=folder / "copies") - before
            escaped = [path for path in (Path("/tmp/escaped"), outside, target.parent.parent / "escaped") if path.exists()]
            return f"wrote {sorted(map(str, new))[:3] or escaped}" if new or escaped else None

        family.check(where, attack)
    for data in (b"{}", b'{"parts": {}}', b"[" * 100_000, b"9" * 5000, b"\xff\xfe", b"null", b'{"parts": {"analyse": null}}'):
        file.write_bytes(data)
        family.check(repr(data[:30]), lambda: "opened" if el.runs.open_run(folder / "run") else None)
    return family


def hostile(good: Any) -> Iterator[tuple[str, Any]]:
    """Copies of a JSON value, each with one change: every value in turn, and every key of a mapping."""
    for where in key_paths(good):
        for value in HOSTILE:
            yield f"{'.'.join(map(str, where))} = {str(value)[:20]!r}", changed(good, where, lambda _, value=value: value)
    for where in key_paths(good):
        for name in ("../../escaped", "/tmp/escaped", "a\0b", ""):
            if isinstance(at(good, where), dict) and at(good, where):
                yield f"{'.'.join(map(str, where))}: a key {name!r}", changed(good, where, lambda old, name=name: renamed(old, name))


def renamed(mapping: dict[str, Any], name: str) -> dict[str, Any]:
    """The mapping with another name for its first entry."""
    first, *rest = mapping.items()
    return {name: first[1], **dict(rest)}


def key_paths(data: Any, where: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if where:
        yield where
    items = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in items:
        yield from key_paths(value, (*where, key))


def at(data: Any, where: tuple[Any, ...]) -> Any:
    for key in where:
        data = data[key]
    return data


def changed(data: Any, where: tuple[Any, ...], change: Callable[[Any], Any]) -> Any:
    copy = json.loads(json.dumps(data))
    parent = at(copy, where[:-1])
    parent[where[-1]] = change(parent[where[-1]])
    return copy


def everything(folder: Path, but: Path) -> set[Path]:
    return {path for path in folder.rglob("*") if but not in path.parents and path != but}


def measure(model: el.Model, folder: Path, *, resume: bool = False) -> el.Run:
    return el.analyse(model, TEXTS, [el.statistics.Entropy(), el.statistics.AverageAttention()], folder=folder, resume=resume)


def tables(run: el.Run) -> dict[str, str]:
    return {name: table.to_csv() for name, table in run.tables.items()}


def _fork(work: Callable[[], object]) -> Any:
    child = multiprocessing.get_context("fork").Process(target=work)
    child.start()
    return child


def killed(work: Callable[[], object], after: float) -> None:
    """Do the work in a child process and kill it after so many seconds."""
    child = _fork(work)
    child.join(after)
    if child.pid is not None and child.is_alive():
        os.kill(child.pid, signal.SIGKILL)
    child.join()
