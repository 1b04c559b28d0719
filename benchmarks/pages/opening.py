"""How much work is it to open a saved page? Prints JSON.

    python -m benchmarks.pages.opening [--tokens 30 128] [--repeats 6] [-o opening.json]

Pages of 12 x 12 heads with made-up attention, in headless Chromium. Processor milliseconds of the page's own thread, from Chromium's trace,
so that other work on the machine does not count: `until_drawn_ms` from the start of the navigation to the mark that the page sets after its
first drawing, `first_frame_ms` for putting that drawing on the screen.

On the clock, without the trace, in a browser window of its own each time, so that nothing is kept from the page before; it has been open
for a second, so that the browser's own work for a new window is done: `wall_ms` from the start of the navigation to the same mark,
`wall_painted_ms` to the frame after the one that shows the drawing (at most two frames later).
Only numbers from a machine that does nothing else can be compared. Medians; `fastest_wall_ms` is the least of all.

The first row is a page of one line that sets the mark at once: what Chromium itself needs, so that no page can go below it.
"""

from __future__ import annotations

import argparse
import json
import platform
import shutil
import statistics
import tempfile
from pathlib import Path
from typing import Any

from playwright.sync_api import sync_playwright

import eyeline as el
from benchmarks.output import give
from benchmarks.pages.views import CHROMIUM, attention

#: Sets the mark at once.
EMPTY = """<!doctype html>
<meta charset="utf-8"><title>empty</title><main id="view">…</main>
<script type="module">document.getElementById("view").dataset.drawn = ""; performance.mark("eyeline:drawn");</script>
"""
#: Looks once a frame whether the page has drawn, and notes the time of the frame after that.
WATCH = """(() => {
    const look = () => requestAnimationFrame(document.querySelector("#view[data-drawn]") ? note : look);
    const note = () => { document.documentElement.dataset.painted = performance.now(); };
    look();
})();"""
#: Milliseconds after which a new window of the browser is idle: its own controls are drawn by a process of their own.
WINDOW_OPENS = 1000
CATEGORIES = ["toplevel", "blink.user_timing", "blink", "devtools.timeline"]


def opened(browser: Any, page_file: Path, trace_file: Path) -> list[dict[str, Any]]:
    """The events of Chromium's trace while the page opens."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    browser.start_tracing(page=page, path=trace_file, categories=CATEGORIES)
    page.goto(page_file.as_uri())
    page.wait_for_selector("#view[data-drawn]", state="attached")
    page.wait_for_timeout(150)  # the first frame
    browser.stop_tracing()
    page.close()
    events: list[dict[str, Any]] = json.loads(trace_file.read_text())["traceEvents"]
    return events


def work(events: list[dict[str, Any]]) -> dict[str, float]:
    """Times are in microseconds there, in milliseconds here."""
    mark = next(event for event in reversed(events) if event["name"] == "eyeline:drawn")
    end = mark["ts"]
    start = max(event["ts"] for event in events if event["name"] == "navigationStart" and event["pid"] == mark["pid"] and event["ts"] < end)
    own = [event for event in events if (event["pid"], event["tid"]) == (mark["pid"], mark["tid"]) and event.get("ph") == "X"]
    begun = min((event for event in own if event["ts"] >= start and "tts" in event), key=lambda event: event["ts"])
    frames = [event for event in own if event["name"] == "CanvasRenderingContext2D::FinalizeFrame" and event["ts"] >= end]
    return {
        "until_drawn_ms": (mark["tts"] - begun["tts"]) / 1000,  # of the thread's own clock: the task that draws goes on after the mark
        "first_frame_ms": sum(event.get("tdur", 0) for event in frames[:1]) / 1000,
    }


def on_the_clock(browser: Any, page_file: Path) -> dict[str, float]:
    """Milliseconds from the start of the navigation, measured by the page itself."""
    window = browser.new_context(viewport={"width": 1280, "height": 900})
    window.add_init_script(WATCH)
    page = window.new_page()
    page.wait_for_timeout(WINDOW_OPENS)
    page.goto(page_file.as_uri())
    page.wait_for_selector("html[data-painted]", state="attached")
    drawn = float(page.evaluate("performance.getEntriesByName('eyeline:drawn')[0].startTime"))
    painted = float(page.evaluate("document.documentElement.dataset.painted"))
    window.close()
    return {"wall_ms": drawn, "wall_painted_ms": painted}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--tokens", type=int, nargs="+", default=[30, 128])
    parser.add_argument("--repeats", type=int, default=6)
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        pages = {("empty", 0): Path(folder) / "empty.html"}
        pages["empty", 0].write_text(EMPTY, encoding="utf-8")
        for kind in ("head", "model"):
            for tokens in options.tokens:
                page_file = pages[kind, tokens] = Path(folder) / f"{kind}{tokens}.html"
                trace = el.Trace.from_arrays(attention(12, 12, tokens), [f"token{number}" for number in range(tokens)])
                getattr(el, f"{kind}_view")(trace, layer=0).save(page_file)  # all heads of a layer
        times: dict[tuple[str, int], list[dict[str, float]]] = {page: [] for page in pages}
        for _ in range(options.repeats):  # one after the other, so that a busy moment hits all of them
            for page, page_file in pages.items():
                events = opened(browser, page_file, Path(folder) / "trace.json")
                times[page].append(work(events) | on_the_clock(browser, page_file))
        for (kind, tokens), each in times.items():
            medians = {name: round(statistics.median(time[name] for time in each)) for name in each[0]}
            fastest = round(min(time["wall_ms"] for time in each))
            rows.append({"view": kind, "tokens": tokens, **medians, "fastest_wall_ms": fastest})
        version = browser.version
    give({"machine": platform.machine(), "chromium": version, "results": rows}, options.out)


if __name__ == "__main__":
    main()
