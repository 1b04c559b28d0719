"""Take the pictures of README.md and docs/ from the product as it is.

    python -m scripts.pictures              (all of them)
    python -m scripts.pictures head space   (these)

Runs on the embedded models and the built-in texts; the app is started in a workspace of its own. Chromium must be installed.
"""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from benchmarks.output import PICTURES as FOLDER
from benchmarks.output import save_picture
from PIL import Image
from playwright.sync_api import Page, sync_playwright

import eyeline as el
from eyeline.look.views.view import View
from eyeline.measure.space.result import FILE

CAT = "The cat sat on the mat because it was tired."
DRAWN = ".eyeline-view[data-drawn]"
#: Window of a page of the app.
WIDTH, HEIGHT = 1200, 1000


@cache
def model() -> el.Model:
    return el.load("e5-small")


@cache
def paragraphs() -> list[str]:
    return el.corpora.sample_text().split("\n\n")


@cache
def trace() -> el.Trace:
    return model().trace(CAT)


def shot(page: Page, name: str, view: View, width: int, height: int) -> None:
    """A view on its own page."""
    with TemporaryDirectory() as folder:
        view.save(Path(folder) / "view.html")
        page.set_viewport_size({"width": width, "height": height})
        page.goto((Path(folder) / "view.html").as_uri())
        page.wait_for_selector("#view[data-drawn]", state="attached")
        page.wait_for_function("document.fonts.ready.then(() => true)")
        save(page, name)


def save(page: Page, name: str) -> None:
    path = FOLDER / f"{name}.png"
    page.screenshot(path=path)
    shrink(path)


def shrink(path: Path) -> None:
    """128 colours are enough for lines, words and points. The picture carries the commit it was taken with."""
    save_picture(Image.open(path).convert("RGB").quantize(128), path)


def head(page: Page) -> None:
    shot(page, "head", el.head_view(trace(), layer=9, heads=[7], locked=[8]), 900, 560)


def neuron(page: Page) -> None:
    shot(page, "neuron", el.neuron_view(trace(), layer=9, head=7, query=8), 1080, 560)


def space(page: Page) -> None:
    shot(page, "space", el.space_view(el.space(model(), paragraphs()[:16], layers=[2, 4, 7, 9])), 1400, 700)


def space_shared(page: Page) -> None:
    shot(page, "space-shared", el.space_view(el.space(model(), paragraphs()[:6], of="shared")), 1160, 700)


def figures(runs: Path) -> None:
    """Pictures of grammar and reference, from the run that the app shows too."""
    grammar = el.runs.open_run(runs / "grammar")
    for figure, name in (("syntax_examples", "syntax_examples"), ("coreference_example", "coreference")):
        el.figures.save_figure(grammar, figure, FOLDER / f"{name}.png")
        shrink(FOLDER / f"{name}.png")


def write_runs(runs: Path) -> None:
    """One run of each kind, on the built-in texts, as pages and the command line write them."""
    runs.mkdir(parents=True)
    file = runs.parent / "sample.conllu"
    el.treebanks.write_sample(file, 150)
    grammar = el.syntax(model(), file, min_count=50).join(el.coreference(model(), file))
    space = el.space(model(), paragraphs()[:16], layers=[4, 9])
    corpus = el.analyse(model(), paragraphs()[:16])
    for name, run in (("grammar", grammar), ("space", space.run()), ("corpus", corpus)):
        el.runs.write_report(run.save(runs / name))
    space.save(runs / "space" / FILE)


@contextmanager
def app(workspace: Path) -> Iterator[str]:
    """The app on a free port of this machine."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        port = listening.getsockname()[1]
    command = [sys.executable, "-m", "eyeline", "app", "--port", str(port), "--no-browser", "--no-samples", "--workspace", str(workspace)]
    server = subprocess.Popen(command, env=os.environ, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        while True:
            if server.poll() is not None:
                raise SystemExit("The app ended.")
            try:
                urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5)
                break
            except OSError:
                time.sleep(0.5)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.terminate()
        server.wait(20)


def visit(page: Page, address: str, wait: str, height: int = HEIGHT) -> None:
    """Open a page of the app, and wait until its script has ended and what is named is there."""
    page.set_viewport_size({"width": WIDTH, "height": height})
    page.goto(address)
    page.wait_for_selector(wait, state="attached")
    wait_for_script(page)


def wait_for_script(page: Page) -> None:
    page.wait_for_function("document.querySelector('.stApp')?.dataset.testScriptState === 'notRunning'")


def app_look(page: Page, address: str) -> None:
    visit(page, f"{address}/?lang=en", DRAWN)
    save(page, "app-look")


def app_learn(page: Page, address: str) -> None:
    visit(page, f"{address}/learn?lang=ja&step=7", DRAWN, 800)
    save(page, "app-learn")


def app_corpus(page: Page, address: str) -> None:
    visit(page, f"{address}/runs?lang=en&run=corpus", ".js-plotly-plot .main-svg")
    page.wait_for_selector(DRAWN, state="attached")
    page.locator(".js-plotly-plot").first.scroll_into_view_if_needed()
    save(page, "app-corpus")


def app_grammar(page: Page, address: str) -> None:
    visit(page, f"{address}/runs?lang=en&run=grammar", "[class*=st-key-wide-examples] .js-plotly-plot .main-svg")
    page.locator("[class*=st-key-wide-examples]").scroll_into_view_if_needed()
    save(page, "app-grammar")


def app_space(page: Page, address: str) -> None:
    visit(page, f"{address}/runs?lang=en&run=space", DRAWN)
    scene = "document.querySelector('.eyeline-view').eyeline"
    spot = page.evaluate(f"{scene}.scene().thumbnails[4]")
    page.locator(".eyeline-view canvas").first.click(position={"x": spot["x"] + 15, "y": spot["y"] + 15})
    page.wait_for_function(f"{scene}.state().opened")
    page.locator(".eyeline-view").first.scroll_into_view_if_needed()
    wait_for_script(page)
    save(page, "app-space")


VIEWS: dict[str, Callable[[Page], None]] = {"head": head, "neuron": neuron, "space": space, "space-shared": space_shared}
PAGES: dict[str, Callable[[Page, str], None]] = {
    "app-look": app_look,
    "app-learn": app_learn,
    "app-corpus": app_corpus,
    "app-grammar": app_grammar,
    "app-space": app_space,
}
FIGURES = ("syntax_examples", "coreference")


def main(names: list[str]) -> None:
    wanted = names or [*VIEWS, *PAGES, *FIGURES]
    unknown = set(wanted) - {*VIEWS, *PAGES, *FIGURES}
    if unknown:
        raise SystemExit(f"No picture is called {', '.join(sorted(unknown))}.")
    with sync_playwright() as player:
        browser = player.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page: Any = browser.new_page(color_scheme="light", locale="en-GB")
        page.set_default_timeout(120_000)
        for name in wanted:
            if name in VIEWS:
                VIEWS[name](page)
        if set(wanted) & {*PAGES, *FIGURES}:
            with TemporaryDirectory() as folder:
                write_runs(Path(folder) / "runs")
                if set(wanted) & set(FIGURES):
                    figures(Path(folder) / "runs")
                if set(wanted) & set(PAGES):
                    with app(Path(folder)) as address:
                        for name in wanted:
                            if name in PAGES:
                                PAGES[name](page, address)
        browser.close()


if __name__ == "__main__":
    main(sys.argv[1:])
