"""How long does a reader wait from a click in a figure to its answer? In Chromium, JSON out.

    python -m benchmarks.pages.clicks [--clicks 6] [-o clicks.json]

Runs of minilm on the built-in texts are opened in the app, and heads are clicked in their figures. Milliseconds from the moment
the button of the mouse is up, measured by the page itself, once a frame:

lit       the clicked head has its ring
in_view   the card is that of the clicked head, and at least half of it (or of the window, where the card is larger) is in view
drawn     the view in the card has drawn that head too

first: of a page just opened; median and slowest: of the further clicks. Only numbers of a machine that does nothing else can be compared.
"""

from __future__ import annotations

import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from tests.show.app.browser.serving import PROGRAM, Served, serving
from tests.show.app.browser.test_clicks import DOTS, IN_VIEW

import eyeline as el
from benchmarks.output import give
from benchmarks.pages.views import CHROMIUM
from eyeline.text.corpora.sample import write_text

MODEL = "minilm"
TIMEOUT = 60_000  # ms
#: Milliseconds after which a page that was scrolled is drawn whole.
AT_REST = 1500
#: Name of the run → the figure that is clicked in, the container of the answer, and what in it names the head.
FIGURES = {
    "corpus": ("average_attention", "card-of-head", "[class*=st-key-head-] input"),
    "grammar": ("syntax", "grammar-card", "[class*=st-key-grammar-head-] input"),
    "space": ("space", "space-pictures", "[class*=st-key-space-head-] input"),
}
#: Waits for a click; then looks once a frame for its ring, for its answer, and for the view in the answer.
WATCH = f"""([figure, answer, name]) => {{
  const inView = {IN_VIEW};
  const ring = () => document.querySelector(`[class*=st-key-wide-${{figure}}] .eyeline-rings`)?.innerHTML;
  const head = () => document.querySelector(name)?.value;
  const view = () => document.querySelector(`.st-key-${{answer}} .eyeline-view`);
  const shown = () => view()?.dataset.digest + JSON.stringify([view()?.eyeline?.state()?.layer, view()?.eyeline?.state()?.heads]);
  const before = [ring(), head(), shown()];
  window.answered = null;
  addEventListener("pointerup", () => {{
    const start = performance.now(), times = {{}};
    const look = () => {{
      const now = performance.now() - start;
      if (ring() !== before[0]) times.lit ??= now;
      if (head() && head() !== before[1] && inView(answer)) times.in_view ??= now;
      const isDrawn = view()?.hasAttribute("data-drawn") && view().eyeline?.upToDate();
      if (times.in_view && isDrawn && shown() !== before[2]) times.drawn ??= now;
      if (times.lit && times.drawn) window.answered = times;
      else requestAnimationFrame(look);
    }};
    look();
  }}, {{ capture: true, once: true }});
}}"""
MIDDLE = "dot => { const box = dot.getBoundingClientRect(); return [box.x + box.width / 2, box.y + box.height / 2]; }"
#: The names of the heads that dots stand for; "" where a dot stands for none.
HEADS = """dots => dots.map((dot) => {
  const head = dot.closest(".trace").__data__[0].trace.customdata?.[dot.__data__.i];
  return head ? `L${head[0]}·H${head[1]}` : "";
})"""


def make_runs(folder: Path) -> None:
    """A run of each kind on the built-in texts."""
    folder.mkdir(parents=True)
    write_text(folder / "texts.txt")
    el.treebanks.write_sample(folder / "sentences.conllu")
    for kind, command in (
        ("corpus", ["analyse", "texts.txt"]),
        ("grammar", ["syntax", "sentences.conllu", "--min-count", "10"]),
        ("space", ["space", "texts.txt"]),
    ):
        program = [sys.executable, "-c", PROGRAM, *command, "--model", MODEL, "-o", kind]
        subprocess.run(program, cwd=folder, check=True, stdout=sys.stderr)


def time_click(page: Any, kind: str, number: int) -> dict[str, float]:
    """Milliseconds of one click on a head that is not the chosen one: the reader scrolls up to the figure, and the page comes to rest."""
    figure, answer, name = FIGURES[kind]
    dots = page.locator(f"[class*=st-key-wide-{figure}] {DOTS}")
    dots.first.wait_for(state="attached")
    chosen = page.locator(name).input_value()
    others = [index for index, head in enumerate(dots.evaluate_all(HEADS)) if head not in ("", chosen)]
    dot = dots.nth(others[number])
    page.mouse.move(640, 500)
    page.mouse.wheel(0, -1)  # the reader has moved on: the last answer is not scrolled to any more
    dot.evaluate("dot => dot.scrollIntoView({ block: 'center' })")
    page.wait_for_timeout(AT_REST)
    x, y = dot.evaluate(MIDDLE)
    page.mouse.move(x - 20, y - 20)
    page.mouse.move(x, y)
    page.evaluate(WATCH, [figure, answer, name])
    page.wait_for_timeout(300)  # the label of the dot is shown
    page.mouse.click(x, y)
    times: dict[str, float] = page.wait_for_function("() => window.answered").json_value()  # within TIMEOUT
    return times


def measure_figure(browser: Any, served: Served, kind: str, clicks: int) -> dict[str, Any]:
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{served.url}/runs?run={kind}")
    page.wait_for_selector(".eyeline-view[data-drawn]", state="attached")
    each = [time_click(page, kind, 5 + 13 * number) for number in range(clicks + 1)]
    page.close()
    first, further = each[0], each[1:]
    spread = {
        name: {
            "first": round(first[name]),
            "median": round(statistics.median(times[name] for times in further)),
            "slowest": round(max(times[name] for times in further)),
        }
        for name in ("lit", "in_view", "drawn")
    }
    return {"figure": kind, **spread}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clicks", type=int, default=6)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        workspace = Path(folder) / "workspace"
        make_runs(workspace / "runs")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        with serving(workspace) as served:
            rows = [measure_figure(browser, served, kind, options.clicks) for kind in FIGURES]
        load = round(os.getloadavg()[0], 1)
        give({"model": MODEL, "clicks": options.clicks, "load": load, "chromium": browser.version, "results": rows}, options.out)


if __name__ == "__main__":
    main()
