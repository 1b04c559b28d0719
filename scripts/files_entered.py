"""How many files of the package four requests enter: a measure of how far apart lies what works together.

    python scripts/files_entered.py            the figures of all four
    python scripts/files_entered.py space      of one, with its files

A file is entered when one of its functions is called; importing it does not count, nor do functions that are called while a module is
imported. A pair is a file with a function that calls a function of another file, whichever way round. Each request runs in a process of
its own, with traces that were cached before left aside.
"""

from __future__ import annotations

import contextlib
import io
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

TEXTS = [
    "The cat sat on the mat because it was tired.", "A dog ran home.", "It rained all day, and nobody came.", "Birds sing.",
    "The old woman gave her neighbour a red book.", "Anna met Tom at the station.", "The keys are on the table.", "Why did he close it?",
]  # fmt: skip
#: The flag of code that has variables of its own: neither modules nor class bodies.
FUNCTION = 2


class Entered:
    """The functions of the package that are called, and which calls which, while it is switched on."""

    def __init__(self, root: Path) -> None:
        self.root = f"{root}{os.sep}"
        self.functions: set[CodeType] = set()
        self.calls: set[tuple[CodeType, CodeType]] = set()

    def note(self, frame: FrameType, event: str, argument: Any) -> None:
        code, caller = frame.f_code, frame.f_back
        if event != "call" or not self._is_ours(code) or not code.co_flags & FUNCTION:
            return
        call = (caller.f_code if caller is not None else code, code)
        if call in self.calls or self._in_an_import(frame):
            return
        self.calls.add(call)
        if not code.co_name.startswith("<"):
            self.functions.add(code)

    def _is_ours(self, code: CodeType) -> bool:
        return code.co_filename.startswith(self.root)

    def _in_an_import(self, frame: FrameType | None) -> bool:
        while frame is not None:
            if frame.f_code.co_name == "<module>" and self._is_ours(frame.f_code):
                return True
            frame = frame.f_back
        return False

    def __enter__(self) -> Entered:
        threading.setprofile(self.note)
        sys.setprofile(self.note)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]

    @property
    def files(self) -> list[str]:
        return sorted({code.co_filename for code in self.functions})

    @property
    def pairs(self) -> set[frozenset[str]]:
        """Files of the package with a call between them."""
        both = ({caller.co_filename, code.co_filename} for caller, code in self.calls if self._is_ours(caller))
        return {frozenset(pair) for pair in both if len(pair) > 1}


def view(measure: Callable[[], Entered]) -> None:
    import eyeline as el

    with measure():
        el.head_view(el.load("minilm").trace(TEXTS[0])).save("cat.html")


def analyse(measure: Callable[[], Entered]) -> None:
    import eyeline as el

    model = el.load("minilm")
    with measure():
        el.analyse(model, TEXTS)


def click(measure: Callable[[], Entered]) -> None:
    """A click on a head of a run: the page is open, another head is chosen, the page is drawn again."""
    from golden_parts.app import one_page
    from golden_parts.imports import Settings, use
    from streamlit.testing.v1 import AppTest

    import eyeline as el

    workspace = Path("workspace")
    el.runs.write_report(el.analyse(el.load("minilm"), TEXTS).save(workspace / "runs" / "run"))
    (workspace / "models").mkdir()
    use(Settings(workspace, model="minilm"))
    at = AppTest.from_function(one_page, default_timeout=120, kwargs={"page": "runs", "language": "en"})
    at.query_params["run"] = "run"
    at.run()
    lit = at.selectbox(key="head-run").value
    button = next(each for each in at.button if str(each.key).startswith("notable-run-") and not str(each.key).endswith(str(lit)))
    with measure():
        button.click().run()
    if at.exception:
        raise RuntimeError(at.exception[0].value)


def space(measure: Callable[[], Entered]) -> None:
    Path("texts.txt").write_text("\n\n".join(TEXTS), encoding="utf-8")
    command(measure, "space", "texts.txt", "--model", "minilm", "--layers", "0", "--heads", "0,1", "-o", "run")


def command(measure: Callable[[], Entered], *arguments: str) -> None:
    """A command in this process, as the installed script runs it."""
    from golden_parts.imports import command_line

    sys.argv = ["eyeline", *arguments]
    with contextlib.redirect_stdout(io.StringIO()), measure():
        try:
            command_line()
        except SystemExit as end:
            if end.code:
                raise


#: The requests, and what each is.
REQUESTS = {
    "view": (view, "view of one text (Python)"),
    "analyse": (analyse, "analyse of 8 texts (Python)"),
    "click": (click, "click on a head of a run (app)"),
    "space": (space, "the command space"),
}


def run(name: str) -> None:
    """Measure one request in a folder of its own, and print its figures and files."""
    import eyeline

    root = Path(eyeline.__file__).parent
    entered = Entered(root)
    request, about = REQUESTS[name]
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        os.environ["EYELINE_CACHE"] = str(Path(folder) / "traces")
        request(lambda: entered)
    lines = sum(len(Path(file).read_text(encoding="utf-8").splitlines()) for file in entered.files)
    print(f"{about:32} {len(entered.files):4} files {lines:6} lines {len(entered.pairs):4} pairs {len(entered.functions):5} functions")
    for file in entered.files:
        print(f"  {Path(file).relative_to(root).as_posix()}")


def main(names: list[str]) -> None:
    if len(names) == 1:
        run(names[0])
        return
    for name in names or REQUESTS:
        done = subprocess.run([sys.executable, __file__, name], stdout=subprocess.PIPE, text=True, check=True)
        print(done.stdout.split("\n", 1)[0], flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
