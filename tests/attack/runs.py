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
from pathlib import Path
from typing import Any

import eyeline as el
from eyeline.analyses.corpus import loop as corpus_loop
from eyeline.results.folder import FACTS_FILE
from eyeline.storage.sealed_json import SEAL, write_sealed_json
from tests.attack.damage import run_of
from tests.attack.family import Family
from tests.laws.statistics import new_tiny_model

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
    ]


def attack_resume(folder: Path, model: el.Model, count: int) -> Family:
    """SIGKILL at a random moment, then the same call with resume=True."""
    family = Family("runs killed while they measure, then resumed", "the numbers of a run that was not killed")
    draw = random.Random(0)  # noqa: S311 - a seeded choice, not a secret
    saved_every, corpus_loop.SAVE_EVERY = corpus_loop.SAVE_EVERY, 0.0  # the children inherit it: sums are saved after every batch
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
        corpus_loop.SAVE_EVERY = saved_every
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
