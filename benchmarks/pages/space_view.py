"""How large is the page of a space, and how quickly is it drawn and answered? Prints JSON.

    python -m benchmarks.pages.space_view -o space_view.json

Made-up spaces of 12 x 12 heads, half of the points queries, half keys. Times until drawn run from navigation to the mark that the page sets
after its first complete drawing (all heads); opening from the click on a head to its drawing; a hover and a step of dragging from the event
to the painted canvas, read back. The same without WebGL.
"""

from __future__ import annotations

import argparse
import platform
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright
from tests.browser.made_up_space import many

import eyeline as el
from benchmarks.output import give

FLAGS = ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-background-networking", "--disable-sync"]
WITHOUT = """
const get = OffscreenCanvas.prototype.getContext;
OffscreenCanvas.prototype.getContext = function (kind, ...rest) { return kind === "webgl2" ? null : get.call(this, kind, ...rest); };
"""
ROOT = "document.getElementById('view').firstElementChild.shadowRoot"
OPEN = """async () => {
  const drawn = new Promise((done) => document.addEventListener('eyeline:drawn', done, {once: true}));
  const box = ROOT.querySelector('canvas').getBoundingClientRect();
  const start = performance.now();
  const at = {clientX: box.left + 120, clientY: box.top + 60, bubbles: true};
  ROOT.querySelector('canvas').dispatchEvent(new MouseEvent('click', at));
  await drawn;
  ROOT.querySelector('canvas').getContext('2d').getImageData(0, 0, 1, 1);
  return performance.now() - start;
}""".replace("ROOT", ROOT)
HOVER = """() => {
  const canvas = ROOT.querySelector('canvas'), box = canvas.getBoundingClientRect();
  return Array.from({length: 31}, (_, i) => {
    const start = performance.now();
    const at = {clientX: box.left + 320 + 8 * i, clientY: box.top + 220 + 7 * i, pointerType: 'mouse'};
    canvas.dispatchEvent(new PointerEvent('pointermove', at));
    canvas.getContext('2d').getImageData(0, 0, 1, 1);
    return performance.now() - start;
  });
}""".replace("ROOT", ROOT)
ZOOM = """async () => {
  const canvas = ROOT.querySelector('canvas'), box = canvas.getBoundingClientRect(), times = [];
  for (let i = 0; i < 12; i++) {
    const start = performance.now();
    const drawn = new Promise((done) => document.addEventListener('eyeline:drawn', done, {once: true}));
    const turn = {clientX: box.left + 400, clientY: box.top + 300, deltaY: i % 2 ? 80 : -80, cancelable: true};
    canvas.dispatchEvent(new WheelEvent('wheel', turn));
    await drawn;
    canvas.getContext('2d').getImageData(0, 0, 1, 1);
    times.push(performance.now() - start);
  }
  return times;
}""".replace("ROOT", ROOT)


def measure(browser: Any, page_file: Path, webgl: bool) -> dict[str, float]:
    context = browser.new_context(viewport={"width": 1280, "height": 900})
    page = context.new_page()
    if not webgl:
        page.add_init_script(WITHOUT)
    page.goto(page_file.as_uri())
    page.wait_for_selector("#view[data-drawn]", state="attached", timeout=120_000)
    drawn = page.evaluate("performance.getEntriesByName('eyeline:drawn')[0].startTime")
    opened, hovers, zooms = page.evaluate(OPEN), page.evaluate(HOVER), page.evaluate(ZOOM)
    context.close()
    return {
        "drawn_s": round(drawn / 1000, 3),
        "opened_s": round(opened / 1000, 3),
        "hover_ms": round(statistics.median(hovers), 1),
        "hover_max_ms": round(max(hovers), 1),
        "zoom_ms": round(statistics.median(zooms), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--points", type=int, nargs="+", default=[5_000, 20_000], help="points a head")
    parser.add_argument("--runs", type=int, default=3, help="pages opened each way; the medians are reported")
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args()
    results = []
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=FLAGS)
        for points in given.points:
            space = many(points)
            file = Path(folder) / f"{points}.html"
            start = time.perf_counter()
            el.space_view(space).save(file)
            record: dict[str, Any] = {"heads": 144, "points": points, "build_s": round(time.perf_counter() - start, 2)}
            record["page_mb"] = round(file.stat().st_size / 1e6, 2)
            for name, webgl in (("webgl", True), ("without", False)):
                runs = [measure(browser, file, webgl) for _ in range(given.runs)]
                record[name] = {key: round(statistics.median(run[key] for run in runs), 3) for key in runs[0]}
            results.append(record)
        version = browser.version
        browser.close()
    give({"machine": platform.machine(), "python": platform.python_version(), "chromium": version, "results": results}, given.out)


if __name__ == "__main__":
    main()
