"""A view as one small SVG drawn in Python, for notebooks opened without a kernel and for saved pictures. Its size is bounded."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.plots.palette import head_colour
from eyeline.text.printable import printable
from eyeline.views.data import ViewData
from eyeline.views.pictures.caption import caption_of
from eyeline.views.pictures.drawing import (
    ACCENT,
    MARK,
    NEGATIVE,
    POSITIVE,
    QUIET,
    ROW,
    SIZE,
    TOP,
    image,
    legend,
    on_dark,
    pooled,
    pooled_signed,
    svg,
    width,
)
from eyeline.views.pictures.line_set import LineEnds, LineSet, by_sign, line_set, paths
from eyeline.views.pictures.shown import HeadMap, Shown, drawn_quantity, head_maps, heads_of, locked_units, quantity_title, shown
from eyeline.views.pictures.still_model import thumbnails
from eyeline.views.pictures.still_neuron import neuron
from eyeline.views.pictures.still_space import plots
from eyeline.words import Words

#: The side of a heatmap, in pixels; the most tokens with which a heatmap is labelled.
MAP_SIDE, LABELLED = 512, 40


@dataclass(frozen=True)
class Bounds:
    """tokens: the most that are drawn as lines, not as a heatmap. lines: the most that are drawn. between: pixels between the columns."""

    tokens: int
    lines: int
    between: int


#: A preview in a notebook stays small; a saved picture shows what the page shows.
PREVIEW, SAVED = Bounds(48, 700, 160), Bounds(256, 60_000, 320)


def still(view: ViewData, bounds: Bounds = PREVIEW, language: str | None = None) -> str:
    """An SVG of what the view's state shows: stack, layer and heads, what is hidden, held and combined, in its theme and language."""
    words = Words(language or view.language)
    state, caption = view.state, caption_of(view, words.language)
    if view.kind == "space":
        title, wide, high, body = plots(view, words)
        drawn = svg(wide, high, title, body)
    elif view.kind == "model" and not state.get("opened"):
        drawn = thumbnails(view, caption, words, saved=bounds is SAVED)
    elif view.kind == "neuron":
        drawn = neuron(view, caption, words)
    else:
        drawn = head(view, bounds, caption, words)
    return on_dark(drawn) if state.get("theme") == "dark" else drawn


def head(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """The heads switched on: lines, or a heatmap of their mean."""
    state, layer = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    number = stack["layers"][layer]["layer"]
    seen = shown(view, layer)
    heads, maps = heads_of(view, len(seen.weights)), head_maps(view, seen)
    named = (
        str(HeadRef("", number, heads[0]))
        if len(heads) == 1
        else words("figure.still.layer_heads", layer=number, heads=words.count("heads", len(heads)))
    )
    quantity = drawn_quantity(view)
    signed = quantity is not None and quantity["signed"]
    if quantity is not None and not (quantity["by_head"] and quantity["by_layer"]):
        named = words("figure.still.layer", layer=number) if quantity["by_layer"] else words("figure.still.all_layers")
    count, stack_name = words.count(f"{seen.unit}s", len(seen.queries)), words.name("stack", stack["name"])
    title = f"{quantity_title(quantity, words)}{view.spec['model']} · {stack_name} · {named} · {count}"
    if not seen.queries or not seen.keys:
        return svg(0, TOP + 16, f"{title} · {words('figure.still.nothing')}", "", caption)
    longest = max(len(seen.queries), len(seen.keys))
    as_heatmap = state.get("as", "lines" if longest <= SAVED.tokens else "heatmap") == "heatmap"
    if longest <= bounds.tokens and not as_heatmap:
        return lines(view, seen, maps, (title, caption), bounds)
    if as_heatmap and len(maps) > 1:  # a heatmap has one head, as on the page; a preview of many lines has their mean
        maps, title = maps[:1], title.replace(named, str(HeadRef("", number, heads[0])))
    elif len(maps) > 1:
        title += f", {words('figure.still.mean')}"
    mean = np.mean([each.weights for each in maps], axis=0) if maps else np.zeros_like(seen.weights[0])
    strength = mean / max(float(np.abs(mean).max()), 1e-9) if state.get("rescale") else mean
    rows, columns = window(state.get("zoom", {}), mean.shape)
    return heatmap(
        np.where(np.abs(mean) < state.get("threshold", 0.0), 0, strength)[rows, columns],
        title,
        caption,
        dark=state.get("theme") == "dark",
        labels=(seen.queries[rows], seen.keys[columns]),
        signed=signed,
        words=words,
    )


def window(zoom: Mapping[str, float], shape: tuple[int, ...]) -> tuple[slice, slice]:
    """The rows and columns of a map that its zoom leaves in sight: x and y are fractions of the map, k is how much larger it is.

    >>> window({"x": 0.5, "y": 0, "k": 2}, (8, 6))
    (slice(0, 4, None), slice(3, 6, None))
    """
    share = 1 / max(1.0, zoom.get("k", 1.0))
    starts = [min(max(0.0, zoom.get(corner, 0.0)), 1 - share) for corner in ("y", "x")]
    rows, columns = (slice(int(start * count), math.ceil((start + share) * count)) for start, count in zip(starts, shape, strict=True))
    return rows, columns


def lines(view: ViewData, seen: Shown, maps: list[HeadMap], words: tuple[str, str], bounds: Bounds) -> str:
    """Two columns of tokens and the lines between them, in the size of the zoom; of locked tokens only theirs, with arrows and sums."""
    state, held, colours, quantity = view.state, locked_units(view, seen), colours_of(maps), drawn_quantity(view)
    to, zoom = state.get("direction") == "to", min(4.0, max(1.0, state.get("zoom", {}).get("k", 1.0)))
    row, size, room = ROW * zoom, SIZE * zoom, 52 if held else 0
    left = 16 + zoom * max(map(width, seen.queries)) + (room if to else 0)
    right = left + bounds.between
    every, chosen = weights_of(maps, seen), chosen_lines(view, seen, maps, bounds.lines)
    queries, keys = (TOP + row * (np.arange(len(side)) + 0.5) for side in (seen.queries, seen.keys))
    at = LineEnds(left + 6, right - 6, queries, keys, spread=0.5 * row, dark=state.get("theme") == "dark")
    if quantity is not None and quantity["signed"]:
        chosen, colours, at = by_sign(chosen), [NEGATIVE, POSITIVE], replace(at, spread=0)
    parts = list(paths(chosen, colours, at, widest=4 if held else 3, arrows=bool(held)))
    text = f'font-family="monospace" font-size="{size:.3g}"'
    needle = state.get("find", "").strip().lower()
    for tokens, x, anchor, side in ((seen.queries, left, "end", not to), (seen.keys, right, "start", to)):
        for index, token in enumerate(tokens):
            bold = ' font-weight="600"' if side and index in held else ""
            y, wide = TOP + row * (index + 0.5), zoom * width(token)
            if needle and needle in token.lower():
                start = x - wide if anchor == "end" else x
                parts.append(f'<rect x="{start:.0f}" y="{y - row / 2 + 1:.0f}" width="{wide:.0f}" height="{row - 2:.0f}" fill="{MARK}"/>')
            parts.append(
                f'<text x="{x:.0f}" y="{y + 0.33 * size:.1f}" text-anchor="{anchor}" {text}{bold}>{escape(printable(token))}</text>'
            )
    wide = right + zoom * max(map(width, seen.keys)) + 16 + (room if not to else 0)
    if held and len(maps):
        unit = 1.0 if quantity is None else quantity["largest"]
        sums = unit * (every[:, :, held].sum(axis=2).mean(axis=0) if to else every[:, held].sum(axis=1).mean(axis=0))
        x = 16 + room - 8 if to else wide - 16
        parts += [
            f'<text x="{x:.0f}" y="{TOP + row * (index + 0.5) + 4:.0f}" text-anchor="end" fill="{QUIET}">{value:.3f}</text>'
            for index, value in enumerate(sums)
            if abs(value) >= state.get("threshold", 0.0)
        ]
    high = TOP + 16 + row * max(len(seen.queries), len(seen.keys))
    if len(maps) > 1 and (quantity is None or not quantity["signed"]):
        squares, rows = legend([f"H{each.head}" for each in maps], colours, 16, high - 4, wide - 32)
        parts.append(squares)
        high += rows
    return svg(wide, high, words[0], "".join(parts), words[1])


def chosen_lines(view: ViewData, seen: Shown, maps: list[HeadMap], most: int) -> LineSet:
    """The lines that the state shows: all that can be seen, or those of the held tokens."""
    held, to = locked_units(view, seen) or None, view.state.get("direction") == "to"
    return line_set(weights_of(maps, seen), view.state, most=most, rows=None if to else held, columns=held if to else None)


def weights_of(maps: list[HeadMap], seen: Shown) -> np.ndarray:
    """[map, query, key]"""
    return np.stack([each.weights for each in maps]) if maps else np.zeros((0, len(seen.queries), len(seen.keys)))


def colours_of(maps: list[HeadMap]) -> list[str]:
    """The colour of each map."""
    return [ACCENT if each.head < 0 else head_colour(each.head) for each in maps]


def heatmap(
    weights: np.ndarray, title: str, caption: str, *, dark: bool, labels: tuple[list[str], list[str]], words: Words, signed: bool = False
) -> str:
    """weights: [query, key], as a picture with a pixel for each, or for the largest of a block; a short text with its tokens beside it."""
    queries, keys = labels
    if max(len(queries), len(keys)) <= LABELLED:
        return labelled(weights, queries, keys, title, caption, dark=dark, signed=signed)
    small = pooled_signed(weights, MAP_SIDE) if signed else pooled(weights, MAP_SIDE)
    side = min(MAP_SIDE, max(256, max(small.shape)))
    picture = image(
        small, 16, TOP, side * small.shape[1] / max(small.shape), side * small.shape[0] / max(small.shape), dark=dark, signed=signed
    )
    more = words(f"figure.still.{'signed' if signed else 'lighter' if dark else 'darker'}")
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
