"""The still picture of a model view: a thumbnail for each layer and head, in the colours that the page gives them."""

from __future__ import annotations

import base64
from collections.abc import Mapping
from typing import Any

import numpy as np

from eyeline.plots.palette import head_colour, layer_colour
from eyeline.views.data import ViewData
from eyeline.views.pictures.drawing import (
    NEGATIVE,
    POSITIVE,
    QUIET,
    TOP,
    png_signed,
    pooled,
    pooled_signed,
    svg,
)
from eyeline.views.pictures.line_set import LineEnds, by_sign, line_set, paths
from eyeline.views.pictures.png import png_bytes
from eyeline.views.pictures.shown import drawn_quantity, quantity_title, shown
from eyeline.words import Words

#: Sides of a thumbnail in pixels, in a notebook's preview and in a saved picture; tokens a side of a bundle of lines, cells of a heatmap.
SMALL, LARGE, STRANDS, CELLS = 28, 60, 40, 96
LINES_UP_TO = 256


def thumbnails(view: ViewData, caption: str, words: Words, *, saved: bool) -> str:
    """The layers and heads of the stack that the state shows, a row a layer.

    saved   larger, and as lines where the page has lines; a preview always has heatmaps, which are small files
    """
    state, size = view.state, LARGE if saved else SMALL
    dark = state.get("theme") == "dark"
    stack = view.spec["stacks"][state.get("stack", 0)]
    longest = max(len(text["tokens"]) for text in view.spec["texts"])
    as_lines = saved and state.get("as", "lines" if longest <= LINES_UP_TO else "heatmap") == "lines"
    rows, columns = state.get("rows"), state.get("columns")
    rows = list(range(len(stack["layers"]))) if rows is None else rows
    columns = list(range(max(layer["n_heads"] for layer in stack["layers"]))) if columns is None else columns
    step, small = size + 4, ' font-size="10"'
    parts = [f'<text x="{48 + at * step}" y="{TOP + 8}" fill="{QUIET}"{small}>H{head}</text>' for at, head in enumerate(columns)]
    count, unit, quantity = 0, "token", drawn_quantity(view)
    signed = quantity is not None and quantity["signed"]
    for row, index in enumerate(rows):
        y = TOP + 14 + row * step
        number = stack["layers"][index]["layer"]
        parts.append(f'<text x="40" y="{y + size / 2 + 4:.0f}" text-anchor="end" fill="{QUIET}"{small}>L{number}</text>')
        seen = shown(view, index)
        count, unit = len(seen.queries), seen.unit
        if not seen.queries or not seen.keys:
            continue
        for at, head in enumerate(columns if len(seen.weights) > 1 else [0]):
            if head >= len(seen.weights):
                continue
            by_head = state.get("colour_by", "head") == "head"
            colour = head_colour(head, dark=dark) if by_head else layer_colour(index, len(stack["layers"]), dark=dark)
            x = 46 + at * step
            parts.append(f'<rect x="{x - 0.5}" y="{y - 0.5}" width="{size + 1}" height="{size + 1}" fill="none" stroke="{FRAME[dark]}"/>')
            draw = bundle if as_lines else tile
            parts.append(draw(seen.weights[head], state, [NEGATIVE, POSITIVE] if signed else [colour], (x, y, size), dark=dark))
    counts = f"{words.count('layers', len(rows))} · {words.count(f'{unit}s', count)}"
    title = f"{quantity_title(quantity, words)}{view.spec['model']} · {words.name('stack', stack['name'])} · {counts}"
    return svg(60 + len(columns) * step, TOP + 24 + len(rows) * step, title, "".join(parts), caption)


FRAME = {False: "#d9dde3", True: "#2a2f37"}


def bundle(weights: np.ndarray, state: Mapping[str, Any], colours: list[str], box: tuple[int, int, int], *, dark: bool) -> str:
    """One head as lines: weights [query, key]; one colour, or two for the numbers below and above zero."""
    x, y, size = box
    small = pooled_signed(weights, STRANDS) if len(colours) > 1 else pooled(weights, STRANDS)
    lines = line_set(small[None], state, most=STRANDS**2, floor=0.04 if state.get("rescale") else 0.02)
    queries, keys = (y + (np.arange(count) + 0.5) * size / count for count in small.shape)
    at = LineEnds(x + 2, x + size - 2, queries, keys, curved=False, dark=dark)
    return "".join(paths(by_sign(lines) if len(colours) > 1 else lines, colours, at, widest=1.5))


def tile(weights: np.ndarray, state: Mapping[str, Any], colours: list[str], box: tuple[int, int, int], *, dark: bool) -> str:
    """One head as a heatmap in its colour, or in two for the numbers below and above zero: weights [query, key]."""
    x, y, size = box
    side = CELLS if size == LARGE else SMALL
    scale = max(float(np.abs(weights).max()), 1e-9) if state.get("rescale") else 1.0
    parts = np.where(np.abs(weights) < state.get("threshold", 0.0), 0, weights / scale)
    if len(colours) > 1:
        png = png_signed(pooled_signed(parts, side), dark=dark)
    else:
        steps = np.clip(np.rint(255 * np.sqrt(np.clip(pooled(parts, side), 0, 1))), 0, 255).astype(np.uint8)
        ground, full = np.array((15, 17, 21) if dark else (255, 255, 255)), [int(colours[0][at : at + 2], 16) for at in (1, 3, 5)]
        png = png_bytes(steps, np.linspace(ground, full, 256).round().astype(np.uint8))
    return (
        f'<image x="{x}" y="{y}" width="{size}" height="{size}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{base64.b64encode(png).decode()}"/>'
    )
