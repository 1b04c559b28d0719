"""A disk that takes so many bytes and no more, while each kind of file is written over an older one."""

from __future__ import annotations

import multiprocessing
import resource
import signal
from collections.abc import Callable
from functools import partial
from multiprocessing.connection import Connection
from pathlib import Path

import eyeline as el
from tests.attack.damage import TEXTS, run_of, space_of, trace_of
from tests.attack.family import Family
from tests.laws.statistics import new_tiny_model

#: The answer of a child whose files were smaller than the room.
WRITTEN = "written"


def attack_disk(folder: Path, count: int) -> Family:
    """A file-size limit of the system stands for the full disk: the write that goes beyond it fails as on one."""
    family = Family("disks that are full while a file is written", "our error; the older file whole; nothing half-written")
    model = new_tiny_model()
    trace = model.trace(TEXTS[0], TEXTS[1])
    space = el.space(model, TEXTS, project="pca")
    run = el.analyse(model, TEXTS, [el.statistics.Entropy(), el.statistics.AverageAttention()])
    older_run = el.analyse(model, TEXTS[:1], [el.statistics.Entropy(), el.statistics.AverageAttention()])
    cases: list[tuple[Path, Callable[[], object], Callable[[], object], Callable[[Path], object]]] = []
    traces, spaces, runs, pages = (folder / name for name in ("traces/x.safetensors", "spaces/x.safetensors", "run", "pages/x.html"))
    for path in (traces, spaces, pages):
        path.parent.mkdir(parents=True)
    older = model.trace(TEXTS[2])
    cases.append((traces, lambda: older.save(traces), lambda: trace.save(traces), trace_of))
    cases.append((spaces, lambda: space.save(spaces), lambda: space.save(spaces), space_of))
    cases.append((runs, lambda: older_run.save(runs), lambda: run.save(runs), run_of))
    cases.append((pages, lambda: el.head_view(older).save(pages), lambda: el.head_view(trace).save(pages), Path.read_bytes))
    for path, begin, write, look in cases:
        begin()
        before, names = look(path), listed(path)
        largest = max(item.stat().st_size for item in [path, *path.rglob("*")] if item.is_file())
        for number in range(count):
            room = largest * number // count

            family.check(f"{path.name}, room for {room} bytes", partial(attack, path, write, room, look, before, names))
            begin()
    return family


def attack_new_folders(folder: Path, count: int) -> Family:
    """A run saved where nothing was: the error names the folder that was given, and nothing is left of it."""
    family = Family("disks that are full while a run is saved into a new folder", "our error about that folder; nothing left")
    run = el.analyse(new_tiny_model(), TEXTS, [el.statistics.Entropy(), el.statistics.AverageAttention()])
    run.save(folder / "whole")
    largest = max(path.stat().st_size for path in (folder / "whole").rglob("*") if path.is_file())
    (folder / "empty").mkdir()
    for number in range(count):
        for path in (folder / "new", folder / "empty"):

            def attack(path: Path = path, room: int = largest * number // count) -> str | None:
                before = path.exists()
                problem = in_child(lambda: run.save(path), room, about=path)
                left = [entry.name for entry in path.rglob("*")] if path.exists() else []
                if problem == WRITTEN:
                    return "written"
                return problem or (f"left {left}" if left or path.exists() != before else None)

            family.check(f"{path.name}, room for {largest * number // count} bytes", attack)
    return family


def attack(
    path: Path, write: Callable[[], object], room: int, look: Callable[[Path], object], before: object, names: set[str]
) -> str | None:
    """One write with so much room; `before` and `names` are what was there."""
    problem = in_child(write, room)
    if problem is not None:
        return None if problem == WRITTEN else problem
    if listed(path) != names:
        return f"left {sorted(listed(path) - names)[:3]}"
    return None if look(path) == before else "the older file is changed"


def listed(path: Path) -> set[str]:
    """What lies beside and in a path, locks aside."""
    return {str(entry.relative_to(path.parent)) for entry in path.parent.rglob("*") if entry.suffix != ".lock"}


def in_child(write: Callable[[], object], room: int, about: Path | None = None) -> str | None:
    """Write in a child process with so much room: None for our error, WRITTEN where it fitted, else what went wrong.

    about   what the error must begin with
    """
    context = multiprocessing.get_context("fork")
    ours, theirs = context.Pipe(duplex=False)
    child = context.Process(target=_write, args=(write, room, theirs, about))
    child.start()
    child.join(120)
    return ours.recv() if ours.poll() else f"ended with {child.exitcode} and no word"


def _write(write: Callable[[], object], room: int, say: Connection, about: Path | None) -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))
    try:
        write()
        say.send(WRITTEN)
    except el.EyelineError as error:
        say.send(None if about is None or str(error).startswith(f"{about}: ") else f"an error about something else: {error}")
    except BaseException as error:  # noqa: BLE001 - any other exception is what we look for
        say.send(f"{type(error).__name__}: {str(error)[:160]}")
