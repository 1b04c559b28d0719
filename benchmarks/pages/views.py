"""Our views against BertViz 1.4.1: the same weights, the same browser, one run. Prints JSON.

    python -m benchmarks.pages.views --bertviz ~/bertviz-venv/bin/python --libraries ~/cdn -o views.json

BertViz lives in an environment of its own, since it asks for older packages:
    python -m venv ~/bertviz-venv && ~/bertviz-venv/bin/pip install --no-deps bertviz==1.4.1
    ~/bertviz-venv/bin/pip install torch ipython numpy
Its pages load jquery, d3 and require.js from a network; here they are answered from a folder, so that its own time is measured:
    mkdir ~/cdn && cd ~/cdn && npm pack jquery@2.2.4 d3@5.7.0 requirejs@2.3.6 && for t in *.tgz; do tar xzf $t --one-top-level; done

Times until drawn run from navigation to the first frame after the page reports (ours) or holds (BertViz) its drawing; hovers from the
mouse event to the frame after it. Memory is the peak of a process that loads the weights and writes the page.
"""

from __future__ import annotations

import argparse
import bisect
import json
import platform
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import eyeline as el

CHROMIUM = [
    *("--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
]
LIBRARIES = {
    "require.min.js": "requirejs*/package/require.js",
    "d3.min.js": "d3*/package/dist/d3.min.js",
    "jquery.min.js": "jquery*/package/dist/jquery.min.js",
}
#: A string in Chromium ends at 512 MB: a larger page is not tried.
LARGEST_PAGE = 500e6
PATIENCE_MS = 200_000


def attention(layers: int, heads: int, tokens: int) -> np.ndarray:
    """[layer, head, query, key] as trained heads have it: from diffuse to sharp, with a sink on the first token."""
    random = np.random.default_rng(0)
    result = np.empty((layers, heads, tokens, tokens), dtype=np.float32)
    for layer in result:
        for head, sharpness in zip(layer, np.linspace(0.3, 3, heads), strict=True):
            head[:] = random.normal(size=head.shape) * sharpness
            head[:, 0] += 3
            np.exp(head, out=head)
            head /= head.sum(axis=-1, keepdims=True)
    return result


def record(name: str, tokens: int, file: str) -> None:
    """Write real attention: the first `tokens` tokens of the built-in text in an embedded model; nothing where it does not take as many.

    In a process of its own: the largest memory of a process begins at that of the one which started it.
    """
    model = el.load(name)
    if model.max_tokens is not None and tokens > model.max_tokens:
        return
    words = el.corpora.sample_text().split()

    def count(text: str) -> int:
        return len(model.tokenizer(text)["input_ids"])

    n_words = bisect.bisect_right(range(1, tokens), tokens, key=lambda n: count(" ".join(words[:n])))
    text = " ".join(words[:n_words])
    text += " ." * (tokens - count(text))  # a full stop is one token
    np.save(file, np.asarray(model.trace(text).weights, dtype=np.float32))


def build(tool: str, kind: str, weights_file: str, page: str) -> dict[str, float]:
    """Write the page in this process: seconds, and peak memory in MB before and after."""
    weights = np.load(weights_file)
    tokens = [f"token{number}" for number in range(weights.shape[-1])]
    if tool == "ours":
        view = getattr(el, f"{kind}_view")  # imported before the clock starts

        def write() -> None:
            view(el.Trace.from_arrays(weights, tokens), layer=0).save(page)
    else:
        import bertviz  # type: ignore[import-not-found]
        import torch

        layers = [torch.from_numpy(layer)[None] for layer in weights]

        def write() -> None:
            created = getattr(bertviz, f"{kind}_view")(layers, tokens, html_action="return")
            Path(page).write_text(created.data)

    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    start = time.perf_counter()
    write()
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    size = Path(page).stat().st_size / 1e6
    return {"build_s": round(seconds, 3), "before_mb": round(before), "peak_mb": round(peak), "page_mb": round(size, 3)}


READY = {
    "ours": "() => document.querySelector('[data-drawn]') !== null",
    "bertviz head": "() => document.querySelectorAll('#vis svg line').length > 0",
    "bertviz model": "() => document.querySelectorAll('#vis svg line, #vis svg path').length > 0",
}
NEXT_FRAME = "() => new Promise((done) => requestAnimationFrame(() => setTimeout(done, 0)))"
WATCH = """() => {
  window.hovers = [];
  let waiting = false;
  for (const kind of ["pointermove", "mouseover", "mousemove"]) addEventListener(kind, () => {
    if (waiting) return;
    waiting = true;
    const start = performance.now();
    requestAnimationFrame(() => setTimeout(() => { hovers.push(performance.now() - start); waiting = false; }, 0));
  }, true);
}"""
#: Where tokens are: the text elements of BertViz; in ours points down the left column, or across the heatmap.
TOKENS = {
    "bertviz": "() => [...document.querySelectorAll('#vis svg text')].slice(3, 11).map(t => t.getBoundingClientRect())"
    ".map(b => [b.x + b.width / 2, b.y + b.height / 2])",
    "ours": "() => { const all = (root) => [...root.querySelectorAll('*')].flatMap(e => [e, ...(e.shadowRoot ? all(e.shadowRoot) : [])]);"
    " const canvas = all(document).filter(e => e.tagName === 'CANVAS').map(e => e.getBoundingClientRect())"
    ".sort((a, b) => b.width * b.height - a.width * a.height)[0];"
    " return [...Array(8).keys()].map(i => [canvas.x + canvas.width * AT, Math.min(canvas.y + 40 + i * 41, innerHeight - 5)]); }",
}


def draw(browser: Any, tool: str, kind: str, tokens: int, page_file: Path, libraries: Path | None) -> dict[str, Any]:
    """Open the page: milliseconds until drawn and for a hover."""
    page = browser.new_page(viewport={"width": 1280, "height": 900})
    requested: list[str] = []

    def answer(route: Any) -> None:
        requested.append(route.request.url)
        name = route.request.url.rsplit("/", 1)[-1]
        result = sorted(libraries.glob(LIBRARIES[name])) if libraries and name in LIBRARIES else []
        route.fulfill(path=result[0], content_type="text/javascript") if result else route.abort()

    page.route(re.compile("^https?:"), answer)
    page.set_default_timeout(PATIENCE_MS)
    try:
        start = time.perf_counter()
        page.goto(page_file.as_uri(), wait_until="commit")
        page.wait_for_function(READY["ours" if tool == "ours" else f"{tool} {kind}"], polling=20)
        page.evaluate(NEXT_FRAME)
        drawn = time.perf_counter() - start
        page.evaluate(WATCH)
        across = "0.15" if kind == "head" and tokens <= 256 else "0.35"  # the left column, or the map
        for x, y in page.evaluate(TOKENS[tool].replace("AT", across)):
            page.mouse.move(x, y)
            page.evaluate(NEXT_FRAME)
        page.wait_for_timeout(100)
        hovers = page.evaluate("hovers")
        hover = {"hover_ms": round(statistics.median(hovers), 1), "hover_max_ms": round(max(hovers), 1)} if hovers else {}
        return {"drawn_s": round(drawn, 3), **hover, "asked_network": len(requested)}
    except Exception as error:  # noqa: BLE001 - a page that cannot be drawn is a result
        return {"drawn_s": None, "reason": str(error).splitlines()[0]}
    finally:
        page.close()


def measure(browser: Any, tool: str, python: str, kind: str, tokens: int, weights: Path, libraries: Path | None) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as folder:
        page = Path(folder) / "page.html"
        ran = subprocess.run([python, __file__, "--build", tool, kind, str(weights), str(page)], capture_output=True, text=True)
        if ran.returncode:
            return {"build_s": None, "reason": ran.stderr.strip().splitlines()[-1]}
        built: dict[str, Any] = json.loads(ran.stdout)
        if page.stat().st_size > LARGEST_PAGE:
            return {**built, "drawn_s": None, "reason": f"not tried: {built['page_mb']:.0f} MB, and a string in Chromium ends at 512 MB"}
        return {**built, **draw(browser, tool, kind, tokens, page, libraries)}


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--bertviz", help="the python of an environment with bertviz 1.4.1; without it BertViz is skipped")
    options.add_argument("--libraries", type=Path, help="a folder with jquery, d3 and requirejs from npm")
    options.add_argument("--model", default="e5-small", help="whose attention is drawn; made up where it takes fewer tokens")
    options.add_argument("--tokens", type=int, nargs="+", default=[30, 128, 512])
    options.add_argument("-o", "--out", type=Path)
    options.add_argument("--build", nargs=4, help=argparse.SUPPRESS)
    options.add_argument("--record", nargs=3, help=argparse.SUPPRESS)
    chosen = options.parse_args()
    if chosen.record:
        record(chosen.record[0], int(chosen.record[1]), chosen.record[2])
        return
    if chosen.build:
        print(json.dumps(build(*chosen.build)))
        return
    from playwright.sync_api import sync_playwright

    from benchmarks.output import give

    results: list[dict[str, Any]] = []
    from_model: dict[int, bool] = {}
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=CHROMIUM)
        cases = [(kind, tokens, 12) for tokens in chosen.tokens for kind in ("head", "model")] + [("head", 4096, 1)]
        for kind, tokens, size in cases:
            weights = Path(folder) / f"{tokens}.npy"
            if not weights.exists():
                if size > 1:
                    subprocess.run([sys.executable, __file__, "--record", chosen.model, str(tokens), str(weights)], check=True)
                from_model[tokens] = weights.exists()
                if not weights.exists():
                    np.save(weights, attention(size, size, tokens))
            n_heads = int(np.prod(np.load(weights, mmap_mode="r").shape[:2]))
            row: dict[str, Any] = {"view": kind, "tokens": tokens, "heads": n_heads, "real": from_model[tokens]}
            row["ours"] = measure(browser, "ours", sys.executable, kind, tokens, weights, None)
            if chosen.bertviz is None:
                row["bertviz"] = {"reason": "skipped: no --bertviz given"}
            elif size == 1:
                row["bertviz"] = {"reason": "not tried: would be a page of some 380 MB"}
            else:
                row["bertviz"] = measure(browser, "bertviz", chosen.bertviz, kind, tokens, weights, chosen.libraries)
            names = ("page_mb", "build_s", "peak_mb", "drawn_s", "hover_ms", "hover_max_ms")
            both = [name for name in names if row["ours"].get(name) and row["bertviz"].get(name)]
            row["bertviz_to_ours"] = {name: round(row["bertviz"][name] / row["ours"][name], 1) for name in both}
            print(json.dumps(row), file=sys.stderr, flush=True)
            results.append(row)
        version = browser.version
    report = {"model": chosen.model, "python": platform.python_version(), "chromium": version, "results": results}
    give(report, chosen.out)


if __name__ == "__main__":
    main()
