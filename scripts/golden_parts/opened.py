"""Saved files of every kind, opened again: by the commit that wrote them, or by a later one."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
from pathlib import Path

import eyeline as el
from golden_parts.imports import EyelineError, open_measured, unpack, write_gallery
from golden_parts.models import model
from golden_parts.output import Output, plain, without
from golden_parts.runs import TEXTS, numbers_of

#: Folders of saved files that are no runs: each is opened in its own way.
FOLDERS = ("cache", "traces", "unfinished", "views")

#: Enough texts that a run of them is interrupted between two of its batches.
MANY = [f"The cat sat on the mat. {'A dog ran home. ' * (i % 5)}" for i in range(96)]


class Interrupting(el.statistics.Entropy):
    """Presses Ctrl-C once."""

    pressed = False

    def update(self, rows: el.statistics.Rows, batch: el.statistics.Batch) -> None:
        super().update(rows, batch)
        if not Interrupting.pressed:
            Interrupting.pressed = True
            os.kill(os.getpid(), signal.SIGINT)


def write_unfinished(output: Output) -> None:
    """What an interrupted run leaves behind, and a cache of traces."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    with contextlib.suppress(KeyboardInterrupt):
        el.analyse(model("minilm"), MANY, [Interrupting()], folder=output.saved / "unfinished", layers=[0])
    el.load("minilm", cache=output.saved / "cache").trace(TEXTS[0])


def write(output: Output, saved: Path) -> None:
    """What everything in a folder of saved files holds."""
    for path in sorted(saved.glob("*")):
        if path.name == "gallery":
            output.number("opened/gallery.json", without(plain(open_measured(path))))
        elif (path / "run.json").is_file():
            output.number(f"opened/{path.name}.json", numbers_of(el.open(path)))
            output.number(f"opened/{path.name}-run.json", numbers_of(el.runs.open_run(path)))
        elif path.name not in FOLDERS:
            raise AssertionError(f"{path}: a saved file that nothing opens")
    for path in sorted(saved.rglob("*.safetensors")):
        if path.parent.name in ("unfinished", "cache"):
            continue
        output.number(f"opened/{path.relative_to(saved).as_posix()}.json", numbers_of(el.open(path)))
    states = (line.split(" ", 1) for line in (saved / "views" / "states.txt").read_text(encoding="utf-8").splitlines())
    output.number("opened/states.json", {name: unpack(state) for name, state in states})
    copy = output.work / "unfinished"
    shutil.copytree(saved / "unfinished", copy)
    try:  # refused where the identity of a model is computed in another way since
        resumed = numbers_of(el.analyse(model("minilm"), MANY, [el.statistics.Entropy()], folder=copy, resume=True, layers=[0]))
    except EyelineError as error:
        resumed = {"refused": str(error).splitlines()[0].replace(str(copy), "FOLDER")}
    output.number("opened/unfinished.json", resumed)
    cached = sorted((saved / "cache").rglob("*.safetensors"))
    if not cached:
        raise AssertionError(f"{saved / 'cache'} holds no trace")
    output.number("opened/cache.json", [plain(el.open(path)) for path in cached])
    shutil.copytree(saved / "gallery", output.work / "gallery" / "minilm" / "run")
    page = write_gallery(output.work / "gallery")
    output.number("opened/gallery.html", page.read_text(encoding="utf-8"))
