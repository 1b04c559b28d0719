"""What does it cost to change a model? JSON out.

    python -m benchmarks.cost.switched_off [--model e5-small-mlm] [--tokens 30] [--only-browser] [-o switched_off.json]

browser_ms        what a reader waits for in the app, in Chromium: from the right click on a head to the bars of the new answer on screen.
                  very_first: of an app just started, clicked as soon as the view can be clicked, while the page below it is still drawn;
                  first: of a second visitor, clicked when the page is whole; median, fastest, slowest: that visitor's further clicks;
                  load: processes that wanted to run on this machine meanwhile (its average over a minute)

switched_off_ms   from the click to the new answer, in Python: one head switched off (median of many, the first one beside it)
all_heads         the answer without each head alone: naive whole passes, one for each head, against passes that begin at the changed layer
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from benchmarks.output import give

REPEATS = 15
TIMEOUT = 240_000  # ms
WINDOW = {"width": 1280, "height": 1000}
VIEW = ".eyeline-view[data-drawn]"
#: Notes when a right click arrives, and waits for the frame in which the answer without that head is on screen.
WATCH = """(head) => {
  const root = [...document.querySelector(".eyeline-view[data-drawn]").children].map((child) => child.shadowRoot).find(Boolean);
  window.moved = new Promise((done) => root.addEventListener("contextmenu", () => {
    const start = performance.now();
    const look = () => {
      const isOff = [...root.querySelectorAll("[data-name=off]")].some((part) => part.textContent.includes(`H${head} `));
      const isAnswered = root.querySelector(".answers:not([data-waiting]) .answer-choice:not([data-after=''])");
      if (isOff && isAnswered) done(performance.now() - start);
      else requestAnimationFrame(look);
    };
    look();
  }, { once: true }));
}"""
TEXT = "The cat sat on the mat because it was tired and the old dog that lived in the house next door was"
WORDS = TEXT.split()


def text_of(model: Any, tokens: int) -> str:
    """A text with a mask, of `tokens` tokens."""
    words = [WORDS[i % len(WORDS)] for i in range(tokens)]
    while len(model.read(" ".join([*words, "[MASK]", "."])).source) > tokens:
        words.pop()
    return " ".join([*words, "[MASK]", "."])


def seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def click(page: Any, head: int) -> float:
    """Milliseconds from a right click on a head, as soon as it can be clicked, to the new answer on screen."""
    page.locator(f"{VIEW} .answer-choice").first.wait_for(timeout=TIMEOUT)
    page.evaluate(WATCH, head)
    page.locator(f"{VIEW} [data-head='{head}']").click(button="right")
    return float(page.evaluate("window.moved"))


def in_browser(model: str, text: str) -> dict[str, Any]:
    """Right clicks on one head after the other of a layer, in the app's Look page; earlier ones stay off."""
    from playwright.sync_api import sync_playwright
    from tests.conftest import FLAGS
    from tests.show.app.browser.serving import serving

    with (
        tempfile.TemporaryDirectory() as folder,
        serving(Path(folder) / "workspace", "--model", model) as app,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=shutil.which("chromium"), headless=True, args=FLAGS.split())
        address = f"{app.url}/?{urlencode({'text': text, 'model': model, 'layer': 5, 'heads': 3})}"
        hasty = browser.new_page(viewport=WINDOW)
        hasty.goto(address)
        very_first = click(hasty, 4)
        hasty.close()
        page = browser.new_page(viewport=WINDOW)
        page.goto(address)
        page.locator(f"{VIEW} .answer-choice").first.wait_for(timeout=TIMEOUT)
        page.locator("[data-test-script-state=notRunning]").first.wait_for(timeout=TIMEOUT)  # the page is whole
        times = []
        for head in range(12):
            times.append(click(page, head))
            page.wait_for_timeout(1000)  # a reader looks
        browser.close()
    first, *others = times
    return {
        "very_first": round(very_first),
        "first": round(first),
        "median": round(statistics.median(others)),
        "fastest": round(min(others)),
        "slowest": round(max(others)),
        "load": round(os.getloadavg()[0], 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="e5-small-mlm")
    parser.add_argument("--tokens", type=int, default=30)
    parser.add_argument("--only-browser", action="store_true", help="keep the other numbers of the output file")
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()

    import eyeline as el
    from eyeline.look.views.live import answer_without

    model = el.load(options.model, device="cpu")
    text = text_of(model, options.tokens)
    if options.only_browser:
        before = json.loads(options.output.read_text()) if options.output else {}
        give({**before, "browser_ms": in_browser(options.model, text)}, options.output)
        return
    trace = model.trace(text)
    first = seconds(lambda: answer_without(model, trace, "L4·H4"))
    times = [seconds(lambda head=head: answer_without(model, trace, f"L5·H{head % 12}")) for head in range(REPEATS)]
    slots = model.layout.slots
    naive = seconds(lambda: [model.predict_again(trace, el.Ablate([(s.stack, s.layer, h)])) for s in slots for h in range(s.n_heads)])
    shared = seconds(lambda: model.head_effects(trace))
    give(
        {
            "model": options.model,
            "tokens": len(trace.text),
            "cores": os.cpu_count(),
            "switched_off_ms": {"first": round(1000 * first, 1), "median": round(1000 * statistics.median(times), 1)},
            "browser_ms": in_browser(options.model, text),
            "all_heads": {"naive_s": round(naive, 2), "shared_s": round(shared, 2), "ratio": round(shared / naive, 3)},
        },
        options.output,
    )


if __name__ == "__main__":
    main()
