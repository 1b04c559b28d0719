"""How soon is there a picture on the first screen of the app, where, and how soon do bars follow a click? In Chromium, JSON out.

    python -m benchmarks.pages.first_screen [--clicks 5] [-o first_screen.json]

For a desktop and a phone:

first_picture_s   of the first visitor of an app that has just come up: from asking for the page to the drawn picture, by the page's clock
again_s           the same for a visitor who comes later
picture_y         pixels from the top of the window to the picture
controls          links, buttons and fields in the window, outside the sentence, the picture and the map
click_ms          from the click on a cell of the map to the changed bars, by the page's clock (median, slowest), once the model is open

Only numbers of a machine that does nothing else can be compared.
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
from tests.show.app.browser.serving import serving

from benchmarks.output import give
from benchmarks.pages.views import CHROMIUM

MODEL = "e5-small-mlm"
WINDOWS = {"desktop": (1440, 900), "phone": (390, 844)}
VIEW = ".eyeline-view[data-drawn]"
DRAWN_AT = f"""() => document.querySelector("{VIEW}") && performance.now() / 1000"""
CONTROLS = """() => [...document.querySelectorAll("a[href], button, input, textarea, select")].filter((each) => {
  const box = each.getBoundingClientRect();
  const inMenu = each.closest("[data-testid=stSelectbox]") && each.tagName === "BUTTON"; // the arrow of a menu is not a second control
  const own = each.closest(".eyeline-grid, .eyeline-view, .st-key-sentence");
  return each.checkVisibility() && box.top < innerHeight && box.width > 4 && box.height > 4 && !own && !inMenu;
}).map((each) => (each.innerText || each.ariaLabel || each.tagName).trim().split("\\n")[0])"""
#: Notes when the pointer goes down, and when the bars have changed.
WATCH = """() => {
  const bars = () => [...document.querySelectorAll(".el-answer")].map((each) => each.textContent).join();
  const before = bars();
  window.answered = null;
  addEventListener("pointerdown", () => {
    const start = performance.now();
    const look = () => { if (bars() !== before) window.answered = performance.now() - start; else requestAnimationFrame(look); };
    look();
  }, { capture: true, once: true });
}"""
#: A cell of the map of 12 × 12 heads, as parts of the width and height of its drawing.
CELL = {"x": (1.6 + 10) / 13.2, "y": 8.5 / 12.9}


def visit(browser: Any, url: str, window: tuple[int, int]) -> tuple[Any, float]:
    """A new visitor's page, and the seconds until its picture was drawn."""
    page = browser.new_context(viewport={"width": window[0], "height": window[1]}).new_page()
    page.goto(url)
    seconds = page.wait_for_function(DRAWN_AT, polling="raf", timeout=120_000).json_value()
    return page, round(float(seconds), 2)


def clicks(page: Any, count: int) -> list[float]:
    """Milliseconds from a click on a cell of the map to the changed bars; the first click waits for the model and is left out."""
    box = page.locator(".eyeline-grid canvas").first.bounding_box()
    times = []
    for _ in range(count + 1):
        page.evaluate(WATCH)
        page.mouse.click(box["x"] + CELL["x"] * box["width"], box["y"] + CELL["y"] * box["height"])
        times.append(float(page.wait_for_function("window.answered", timeout=120_000).json_value()))
        page.wait_for_timeout(700)
    return times[1:]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clicks", type=int, default=5)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()
    results: dict[str, Any] = {"model": MODEL}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        for name, window in WINDOWS.items():
            with serving(Path(folder) / name, "--model", MODEL) as app:
                _, first = visit(browser, app.url, window)
                time.sleep(10)  # the model is opened once the first page is there
                page, again = visit(browser, app.url, window)
                page.wait_for_timeout(1500)
                results[name] = {
                    "first_picture_s": first,
                    "again_s": again,
                    "picture_y": round(page.locator(".eyeline-view").first.bounding_box()["y"]),
                    "controls": page.evaluate(CONTROLS),
                }
                if name == "desktop":
                    times = clicks(page, options.clicks)
                    results[name]["click_ms"] = {"median": round(statistics.median(times)), "slowest": round(max(times))}
        browser.close()
    give(results, options.output)


if __name__ == "__main__":
    main()
