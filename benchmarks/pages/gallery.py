"""How long does a page of the gallery take to open, and how large is a model's folder? Prints JSON.

    python -m benchmarks.pages.gallery [--gallery out/gallery] [--repeats 5] [-o gallery.json]

The pages are opened from file:// in headless Chromium: the list of models, the heads of a model, and the page of a head with its two live
views. `processor_ms`: of the page's own thread, until the last view is drawn; `wall_ms`: the same on the clock, with all other work of the
machine. Medians. Without --gallery, the embedded models are measured first on few texts: the pages are as large, their numbers are not
worth reading.
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import eyeline as el
from benchmarks.output import give
from benchmarks.pages.views import CHROMIUM
from eyeline.look.embedded import EMBEDDED
from eyeline.measure.gallery import measure_heads
from eyeline.show.gallery.pages import RUN, write_gallery

NOT_DRAWN = "[data-example]:not([data-drawn])"


def opened(browser: Any, page_file: Path) -> dict[str, float]:
    """Milliseconds of one opening, in a new tab."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    session = page.context.new_cdp_session(page)
    session.send("Performance.enable", {"timeDomain": "threadTicks"})
    before, start = _processor_s(session), time.perf_counter()
    page.goto(page_file.as_uri(), wait_until="load")
    page.wait_for_selector(NOT_DRAWN, state="detached")
    times = {"processor_ms": 1000 * (_processor_s(session) - before), "wall_ms": 1000 * (time.perf_counter() - start)}
    page.close()
    return times


def _processor_s(session: Any) -> float:
    metrics = {each["name"]: each["value"] for each in session.send("Performance.getMetrics")["metrics"]}
    return float(metrics["TaskDuration"])


def size_mb(folder: Path) -> float:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file()) / 1e6


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--gallery", type=Path)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary, sync_playwright() as playwright:
        folder = options.gallery or Path(temporary)
        if options.gallery is None:
            for name in (model.name for model in EMBEDDED):
                measure_heads(el.load(name), texts=1, sentences=30, min_count=5).save(folder / name / RUN)
            write_gallery(folder)
        models = sorted(path.parents[1] for path in folder.glob(f"*/{RUN}/run.json"))
        pages = {"the list of models": folder / "index.html"}
        for model in models:
            pages[f"{model.name}, all heads"] = model / "index.html"
            pages[f"{model.name}, one head"] = max(model.glob("L*H*.html"), key=lambda path: path.stat().st_size)
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        times: dict[str, list[dict[str, float]]] = {page: [] for page in pages}
        for _ in range(options.repeats):  # one after the other, so that a busy moment hits all of them
            for page, page_file in pages.items():
                times[page].append(opened(browser, page_file))
        rows = [
            {"page": page, **{name: round(statistics.median(t[name] for t in each)) for name in each[0]}} for page, each in times.items()
        ]
        sizes = {model.name: round(size_mb(model), 1) for model in models}
        give({"chromium": browser.version, "megabytes": sizes, "results": rows}, options.out)


if __name__ == "__main__":
    main()
