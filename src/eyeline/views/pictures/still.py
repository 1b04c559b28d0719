"""A view as one small SVG drawn in Python: what a saved notebook shows when nothing can run. Bounded at any length."""

from __future__ import annotations

from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.text.printable import printable
from eyeline.views.data import ViewData
from eyeline.views.pictures.drawing import DARK, HEAD_COLOURS, QUIET, ROW, TOP, image, pooled, svg, width
from eyeline.views.pictures.shown import heads_of, shown
from eyeline.views.pictures.still_neuron import neuron
from eyeline.views.pictures.still_space import plots

#: Above these the picture is a heatmap, and thumbnails are pooled.
MOST_TOKENS, MOST_LINES, MAP_SIDE, THUMB = 48, 700, 512, 28


def still(view: ViewData) -> str:
    """An SVG of the stack, layer and heads that the view's state shows, in its theme."""
    state = view.state
    if view.kind == "space":
        title, wide, high, body = plots(view)
        return svg(wide, high, title, body)
    drawn = thumbnails(view) if view.kind == "model" and not state.get("opened") else neuron(view) if view.kind == "neuron" else head(view)
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
