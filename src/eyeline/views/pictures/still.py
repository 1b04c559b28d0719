"""A view as one small SVG drawn in Python: what a saved notebook shows when nothing can run. Bounded at any length."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.text.printable import printable
from eyeline.views.data import ViewData
from eyeline.views.pictures.caption import caption_of
from eyeline.views.pictures.drawing import (
    HEAD_COLOURS,
    NEGATIVE,
    POSITIVE,
    QUIET,
    ROW,
    TOP,
    image,
    on_dark,
    pooled,
    pooled_signed,
    svg,
    width,
)
from eyeline.views.pictures.shown import HeadMap, Shown, drawn_quantity, head_maps, heads_of, locked_units, shown
from eyeline.views.pictures.still_neuron import neuron
from eyeline.views.pictures.still_space import plots

#: The side of a heatmap and of a thumbnail, in pixels; up to so many tokens a heatmap names them.
MAP_SIDE, THUMB, LABELLED = 512, 28, 40
ACCENT = "#2563eb"


@dataclass(frozen=True)
class Bounds:
    """Above these a picture of lines becomes a heatmap, and the weakest lines are left out."""

    tokens: int
    lines: int


#: A preview in a notebook stays small; a saved picture shows what the page shows.
PREVIEW, SAVED = Bounds(48, 700), Bounds(256, 5000)


def still(view: ViewData, bounds: Bounds = PREVIEW) -> str:
    """An SVG of what the view's state shows: stack, layer and heads, what is hidden, held and combined, in its theme."""
    state = view.state
    if view.kind == "space":
        title, wide, high, body = plots(view)
        return svg(wide, high, title, body)
    if view.kind == "neuron":
        drawn = neuron(view)
    else:
        drawn = thumbnails(view) if view.kind == "model" and not state.get("opened") else head(view, bounds)
    return on_dark(drawn) if state.get("theme") == "dark" else drawn


def head(view: ViewData, bounds: Bounds) -> str:
    """The heads switched on: lines, or a heatmap of their mean."""
    state, layer = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    number = stack["layers"][layer]["layer"]
    seen = shown(view, layer)
    heads, maps = heads_of(view, len(seen.weights)), head_maps(view, seen)
    named = str(HeadRef("", number, heads[0])) if len(heads) == 1 else f"layer {number}, {len(heads)} heads"
    quantity = drawn_quantity(view)
    what = "" if quantity is None else f"{quantity_title(quantity)} · "
    if quantity is not None and not (quantity["by_head"] and quantity["by_layer"]):
        named = f"layer {number}" if quantity["by_layer"] else "all layers"
    title = f"{what}{view.spec['model']} · {stack['name']} · {named} · {len(seen.queries)} {seen.unit}s"
    if not seen.queries or not seen.keys:
        return svg(0, TOP + 16, title + " · nothing left to show", "", caption_of(view))
    longest = max(len(seen.queries), len(seen.keys))
    if longest > bounds.tokens or state.get("as", "lines" if longest <= SAVED.tokens else "heatmap") == "heatmap":
        mean = np.mean([map_.weights for map_ in maps], axis=0) if maps else np.zeros_like(seen.weights[0])
        return heatmap(
            mean,
            title + (", mean" if len(maps) > 1 else ""),
            caption_of(view),
            dark=state.get("theme") == "dark",
            labels=(seen.queries, seen.keys),
            signed=quantity is not None and quantity["signed"],
        )
    return lines(view, seen, maps, title, bounds.lines)


def lines(view: ViewData, seen: Shown, maps: list[HeadMap], title: str, most: int) -> str:
    """Two columns of tokens and the strongest lines between them; of held tokens only theirs, with arrows and their sums."""
    state, held = view.state, locked_units(view, seen)
    to = state.get("direction") == "to"
    room = 52 if held else 0
    left = 16 + max(map(width, seen.queries)) + (room if to else 0)
    right = left + 160
    signs = np.stack([map_.weights for map_ in maps]) if maps else np.zeros((0, len(seen.queries), len(seen.keys)))  # [map, query, key]
    every, quantity = np.abs(signs), drawn_quantity(view)
    signed, unit = quantity is not None and quantity["signed"], 1.0 if quantity is None else quantity["largest"]
    strength = every / np.maximum(every.max(axis=(1, 2), keepdims=True), 1e-9) if state.get("rescale") and len(maps) else every
    allowed = every >= max(state.get("threshold", 0.0), 1e-6)
    allowed &= strength >= 0.02
    if held:
        among = np.zeros(every.shape[1:], dtype=bool)
        among[(slice(None), held) if to else (held, slice(None))] = True
        allowed &= among
    strongest = np.argsort(-np.where(allowed, strength, -1), axis=None, kind="stable")[: min(most, int(allowed.sum()))]
    parts = []
    for index in strongest[::-1]:
        at, query, key = np.unravel_index(index, every.shape)
        share = float(strength[at, query, key])
        colour = ACCENT if maps[at].head < 0 else HEAD_COLOURS[maps[at].head % len(HEAD_COLOURS)]
        if signed:
            colour = NEGATIVE if signs[at, query, key] < 0 else POSITIVE
        y1, y2 = TOP + 12 + query * ROW, TOP + 12 + key * ROW
        parts.append(
            f'<path d="M{left + 6:.0f} {y1}L{right - 6:.0f} {y2}" stroke="{colour}" '
            f'stroke-width="{1 + share:.1f}" opacity="{share**0.85:.2f}"/>'
        )
        if held:
            parts.append(f'<path d="M{right - 6:.0f} {y2}l-7 -3l0 6Z" fill="{colour}" opacity="{share**0.85:.2f}"/>')
    for tokens, x, anchor, side in ((seen.queries, left, "end", not to), (seen.keys, right, "start", to)):
        for row, token in enumerate(tokens):
            bold = ' font-weight="600"' if side and row in held else ""
            parts.append(
                f'<text x="{x:.0f}" y="{TOP + 16 + row * ROW}" text-anchor="{anchor}" font-family="monospace"{bold}>'
                f"{escape(printable(token))}</text>"
            )
    wide = right + max(map(width, seen.keys)) + 16 + (room if not to else 0)
    if held and len(maps):
        sums = unit * (signs[:, :, held].sum(axis=2).mean(axis=0) if to else signs[:, held].sum(axis=1).mean(axis=0))
        x = 16 + room - 8 if to else wide - 16
        parts += [
            f'<text x="{x:.0f}" y="{TOP + 16 + row * ROW}" text-anchor="end" fill="{QUIET}">{value:.3f}</text>'
            for row, value in enumerate(sums)
        ]
    return svg(wide, TOP + 16 + ROW * max(len(seen.queries), len(seen.keys)), title, "".join(parts), caption_of(view))


def quantity_title(quantity: Mapping[str, Any]) -> str:
    """The name of a quantity, with the answer that it is about."""
    return f"{quantity['name']} → {quantity['answer'].strip()}" if quantity["answer"].strip() else str(quantity["name"])


def heatmap(weights: np.ndarray, title: str, caption: str, *, dark: bool, labels: tuple[list[str], list[str]], signed: bool = False) -> str:
    """weights: [query, key], as a picture with a pixel for each, or for the largest of a block; a short text with its tokens beside it."""
    queries, keys = labels
    if max(len(queries), len(keys)) <= LABELLED:
        return labelled(weights, queries, keys, title, caption, dark=dark, signed=signed)
    small = pooled_signed(weights, MAP_SIDE) if signed else pooled(weights, MAP_SIDE)
    side = min(MAP_SIDE, max(256, max(small.shape)))
    picture = image(
        small, 16, TOP, side * small.shape[1] / max(small.shape), side * small.shape[0] / max(small.shape), dark=dark, signed=signed
    )
    more = "blue is below zero, orange above" if signed else f"{'lighter' if dark else 'darker'} is more"
    more = f"queries downwards, keys across; {more}"
    notes = f'<text x="16" y="{TOP + side + 16}" fill="{QUIET}">{more}</text>'
    return svg(side + 32, TOP + side + 28, title, picture + notes, caption)


def labelled(
    weights: np.ndarray, queries: list[str], keys: list[str], title: str, caption: str, *, dark: bool, signed: bool = False
) -> str:
    """A heatmap with the queries at its left and the keys, turned, above it."""
    left, above = 22 + max(map(width, queries)), TOP + 8 + max(map(width, keys))
    parts = [image(weights, left, above, ROW * len(keys), ROW * len(queries), dark=dark, signed=signed)]
    for row, token in enumerate(queries):
        y = above + 12 + row * ROW
        parts.append(f'<text x="{left - 6:.0f}" y="{y:.0f}" text-anchor="end" font-family="monospace">{escape(printable(token))}</text>')
    for column, token in enumerate(keys):
        x, y = round(left + 12 + column * ROW), round(above - 6)
        parts.append(f'<text x="{x}" y="{y}" transform="rotate(-90 {x} {y})" font-family="monospace">{escape(printable(token))}</text>')
    return svg(left + ROW * len(keys) + 16, above + ROW * len(queries) + 12, title, "".join(parts), caption)


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
    count, unit, quantity = 0, "token", drawn_quantity(view)
    signed = quantity is not None and quantity["signed"]
    for row, index in enumerate(rows):
        y = TOP + 14 + row * step
        parts.append(f'<text x="40" y="{y + 18}" text-anchor="end" fill="{QUIET}" font-size="10">L{stack["layers"][index]["layer"]}</text>')
        seen = shown(view, index)
        count, unit = len(seen.queries), seen.unit
        if not columns or not seen.queries or not seen.keys:
            continue
        strip = np.zeros((THUMB, len(columns) * step), dtype=np.float32)
        for at, head_number in enumerate(columns if len(seen.weights) > 1 else [0]):
            if head_number >= len(seen.weights):
                continue
            weights = seen.weights[head_number]
            thumb = pooled_signed(weights, THUMB) if signed else pooled(weights, THUMB)
            stretch = -(-THUMB // max(thumb.shape))
            thumb = np.kron(thumb, np.ones((stretch, stretch), dtype=np.float32))[:THUMB, :THUMB]
            strip[: thumb.shape[0], at * step : at * step + thumb.shape[1]] = thumb
        parts.append(image(strip, 46, y, strip.shape[1], THUMB, dark=state.get("theme") == "dark", signed=signed))
    what = "" if quantity is None else f"{quantity_title(quantity)} · "
    title = f"{what}{view.spec['model']} · {stack['name']} · {len(rows)} layers · {count} {unit}s"
    return svg(60 + len(columns) * step, TOP + 24 + len(rows) * step, title, "".join(parts), caption_of(view))
