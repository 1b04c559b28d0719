"""A view as one small SVG drawn in Python: what a saved notebook shows when nothing can run. Bounded at any length."""

from __future__ import annotations

import base64
import unicodedata
from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.text.printable import printable
from eyeline.views.data import ViewData
from eyeline.views.pictures.png import png_bytes
from eyeline.views.pictures.shown import heads_of, shown
from eyeline.views.pictures.still_space import plots

#: As in frontend/src/core/colours.ts.
HEAD_COLOURS = (
    *("#9640ff", "#ba6412", "#07c7c6", "#117068", "#a79bff", "#6f8a5c", "#5b8eb2", "#a7ba04"),
    *("#b0042a", "#e08995", "#ea2695", "#a00095", "#9e79f3", "#6d18c2", "#b69231", "#49aace"),
    *("#e7aa79", "#616dc2", "#ce0079", "#9eb6f3", "#799e6d", "#920ce7", "#f355b6", "#245518"),
    *("#b649db", "#aa5500", "#6d6d86", "#ceaaaa", "#b63daa", "#92aa61", "#c261db", "#db5549"),
    *("#ce7992", "#79c261", "#aa61ff", "#55863d", "#559eb6", "#ce86e7", "#867992", "#aaaa31"),
    *("#aa8600", "#92556d", "#aa86ff", "#ff92e7", "#8624aa", "#aa6d79", "#49316d", "#f361ce"),
)
#: Above these the picture is a heatmap, and thumbnails are pooled.
MOST_TOKENS, MOST_LINES, MAP_SIDE, THUMB = 48, 700, 512, 28
INK, QUIET, GROUND = "#1a1d23", "#5b6472", "#ffffff"
DARK = {INK: "#e6e8ec", QUIET: "#9aa3b2", GROUND: "#0f1115"}
ROW, SIZE, CHAR, BAR = 17, 12, 7.3, 200
TOP = 34


def still(view: ViewData) -> str:
    """An SVG of the stack, layer and heads that the view's state shows, in its theme."""
    state = view.state
    if view.kind == "space":
        title, wide, high, body = plots(view)
        return svg(wide, high, title, body)
    drawn = thumbnails(view) if view.kind == "model" and not state.get("opened") else bars(view) if view.kind == "neuron" else head(view)
    if state.get("theme") == "dark":
        for light, dark in DARK.items():
            drawn = drawn.replace(f'fill="{light}"', f'fill="{dark}"')
    return drawn


def head(view: ViewData) -> str:
    """The heads switched on: lines, or above some length a heatmap of their mean."""
    at, layer = view.state.get("stack", 0), view.state.get("layer", 0)
    stack = view.spec["stacks"][at]
    record = stack["layers"][layer]
    seen = shown(view, layer)
    heads = heads_of(view, len(seen.weights))
    named = str(HeadRef("", record["layer"], heads[0])) if len(heads) == 1 else f"layer {record['layer']}, {len(heads)} heads"
    title = f"{view.spec['model']} · {stack['name']} · {named} · {len(seen.queries)} {seen.unit}s"
    if not seen.queries or not seen.keys:
        return svg(0, TOP + 16, title + " · nothing left to show", "")
    if max(len(seen.queries), len(seen.keys)) > MOST_TOKENS:
        mean = seen.weights[heads].mean(axis=0) if heads else np.zeros_like(seen.weights[0])
        return heatmap(mean, title + (", mean" if len(heads) > 1 else ""))
    return lines(seen.weights, heads, seen.queries, seen.keys, title)


def bars(view: ViewData) -> str:
    """The neuron view's query token, and what it gives to each key: a bar and its number, the strongest where there are many."""
    at, layer = view.state.get("stack", 0), view.state.get("layer", 0)
    stack = view.spec["stacks"][at]
    queries, keys = (view.spec["texts"][stack[side]]["tokens"] for side in ("query_text", "key_text"))
    head_number = (view.state.get("heads") or [0])[0]
    query = min(view.state.get("query", 0), len(queries) - 1)
    weights = view.weights(at, layer)[head_number, query]  # [key]
    rows = sorted(np.argsort(-weights, kind="stable")[:MOST_TOKENS].tolist())
    few = f", the {MOST_TOKENS} strongest of {len(keys)} keys" if len(keys) > len(rows) else ""
    name = HeadRef("", stack["layers"][layer]["layer"], head_number)
    title = f"{view.spec['model']} · {stack['name']} · {name} · query {query}: {queries[query]}{few}"
    left = 16 + max(width(keys[key]) for key in rows)
    colour = HEAD_COLOURS[head_number % len(HEAD_COLOURS)]
    parts = []
    for row, key in enumerate(rows):
        y, long = TOP + 16 + row * ROW, BAR * float(weights[key])
        parts.append(f'<text x="{left:.0f}" y="{y}" text-anchor="end" font-family="monospace">{escape(printable(keys[key]))}</text>')
        parts.append(f'<rect x="{left + 8:.0f}" y="{y - 10}" width="{long:.1f}" height="12" fill="{colour}"/>')
        parts.append(f'<text x="{left + 14 + long:.0f}" y="{y}" fill="{QUIET}">{weights[key]:.3f}</text>')
    return svg(left + BAR + 70, TOP + 16 + ROW * len(rows), title, "".join(parts))


def lines(weights: np.ndarray, heads: list[int], queries: list[str], keys: list[str], title: str) -> str:
    """Two columns of tokens, the strongest lines between them."""
    left, right = 16 + max(map(width, queries)), 176 + max(map(width, queries))
    every = weights[heads]  # [head, query, key]
    strongest = np.argsort(-every, axis=None, kind="stable")[:MOST_LINES]
    parts = []
    for index in strongest[::-1]:
        head, query, key = np.unravel_index(index, every.shape)
        if (weight := float(every[head, query, key])) < 0.02:
            continue
        line = f"M{left + 6:.0f} {TOP + 12 + query * ROW}L{right - 6:.0f} {TOP + 12 + key * ROW}"
        look = f'stroke="{HEAD_COLOURS[heads[head] % len(HEAD_COLOURS)]}" stroke-width="{1 + weight:.1f}" opacity="{weight:.2f}"'
        parts.append(f'<path d="{line}" {look}/>')
    for tokens, x, anchor in ((queries, left, "end"), (keys, right, "start")):
        parts += [
            f'<text x="{x:.0f}" y="{TOP + 16 + row * ROW}" text-anchor="{anchor}" font-family="monospace">{escape(printable(token))}</text>'
            for row, token in enumerate(tokens)
        ]
    return svg(right + max(map(width, keys)) + 16, TOP + 16 + ROW * max(len(queries), len(keys)), title, "".join(parts))


def heatmap(weights: np.ndarray, title: str) -> str:
    """weights: [query, key], as a picture with a pixel for each, or for the largest of a block."""
    small = pooled(weights, MAP_SIDE)
    side = min(MAP_SIDE, max(256, max(small.shape)))
    picture = image(small, 16, TOP, side * small.shape[1] / max(small.shape), side * small.shape[0] / max(small.shape))
    notes = f'<text x="16" y="{TOP + side + 16}" fill="{QUIET}">queries downwards, keys across; darker is more</text>'
    return svg(side + 32, TOP + side + 28, title, picture + notes)


def thumbnails(view: ViewData) -> str:
    """The layers and heads of the stack that the state shows, a row a layer."""
    state = view.state
    stack = view.spec["stacks"][state.get("stack", 0)]
    rows, columns = state.get("rows"), state.get("columns")
    rows = list(range(len(stack["layers"]))) if rows is None else rows
    columns = list(range(max(layer["n_heads"] for layer in stack["layers"]))) if columns is None else columns
    step = THUMB + 4
    parts = [
        f'<text x="{52 + at * step}" y="{TOP + 8}" fill="{QUIET}" font-size="10">H{head_number}</text>'
        for at, head_number in enumerate(columns)
    ]
    count, unit = 0, "token"
    for row, index in enumerate(rows):
        y = TOP + 14 + row * step
        parts.append(f'<text x="40" y="{y + 18}" text-anchor="end" fill="{QUIET}" font-size="10">L{stack["layers"][index]["layer"]}</text>')
        seen = shown(view, index)
        count, unit = len(seen.queries), seen.unit
        if not columns or not seen.queries or not seen.keys:
            continue
        strip = np.zeros((THUMB, len(columns) * step), dtype=np.float32)
        for at, head_number in enumerate(columns):
            if head_number >= len(seen.weights):
                continue
            thumb = pooled(seen.weights[head_number], THUMB)
            stretch = -(-THUMB // max(thumb.shape))
            thumb = np.kron(thumb, np.ones((stretch, stretch), dtype=np.float32))[:THUMB, :THUMB]
            strip[: thumb.shape[0], at * step : at * step + thumb.shape[1]] = thumb
        parts.append(image(strip, 46, y, strip.shape[1], THUMB))
    title = f"{view.spec['model']} · {stack['name']} · {len(rows)} layers · {count} {unit}s"
    return svg(60 + len(columns) * step, TOP + 24 + len(rows) * step, title, "".join(parts))


def pooled(weights: np.ndarray, side: int) -> np.ndarray:
    """The largest weight of each block, so that at most `side` rows and columns are left and no strong cell is lost."""
    for axis in (0, 1):
        if (count := weights.shape[axis]) > side:
            weights = np.maximum.reduceat(weights, np.arange(side) * count // side, axis=axis)
    return weights


def image(weights: np.ndarray, x: float, y: float, wide: float, high: float) -> str:
    data = base64.b64encode(png(weights)).decode()
    return (
        f'<image x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{high:.0f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def png(weights: np.ndarray) -> bytes:
    """White to dark blue by the square root of the weight, as a PNG with a palette."""
    steps = np.clip(np.rint(np.sqrt(np.clip(weights, 0, 1)) * 255), 0, 255).astype(np.uint8)  # [row, column]
    ramp = np.linspace((255, 255, 255), (23, 37, 84), 256).round().astype(np.uint8)
    return png_bytes(steps, ramp)


def svg(wide: float, high: float, title: str, body: str) -> str:
    wide, high = max(round(wide), round(32 + width(title))), round(high)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'font-family="system-ui, sans-serif" font-size="{SIZE}" fill="{INK}"><title>{escape(printable(title))}</title>'
        f'<rect width="100%" height="100%" fill="{GROUND}"/><text x="16" y="20">{escape(printable(title))}</text>{body}</svg>'
    )


def width(text: str) -> float:
    """About how wide the text is, in pixels: East Asian characters and emoji take two places."""
    return CHAR * sum(2 if unicodedata.east_asian_width(char) in "WF" else 1 for char in printable(text))
