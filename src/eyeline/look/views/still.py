"""A view as one small SVG drawn in Python, for notebooks opened without a kernel and for saved pictures. Its size is bounded."""

from __future__ import annotations

import base64
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from eyeline.heads import HeadRef
from eyeline.kinds import VIEWS, named
from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE, SIGNED, SIGNED_DARK, head_colour, layer_colour, rgb
from eyeline.look.views.data import LOWEST, ViewData
from eyeline.look.views.drawing import (
    PAGE,
    ROW,
    SIZE,
    TOP,
    HeadMap,
    LineEnds,
    LineSet,
    VisiblePart,
    by_sign,
    caption_of,
    drawn_quantity,
    edge_bars,
    head_maps,
    head_number,
    heads_of,
    image,
    legend,
    line_set,
    locked_units,
    on_dark,
    part_colours,
    part_legend,
    paths,
    png_bytes,
    png_signed,
    pooled,
    pooled_signed,
    quantity_title,
    svg,
    visible_part,
    width,
)
from eyeline.look.views.heads_grid import line_colour
from eyeline.mathematics import head_outputs
from eyeline.text.tokenized import printable
from eyeline.words import Words


@dataclass(frozen=True)
class Bounds:
    """tokens: the most that are drawn as lines, not as a heatmap. lines: the most that are drawn. between: pixels between the columns."""

    tokens: int
    lines: int
    between: int


#: From this share of the attention on, a token is a sink; of a shorter text this says nothing.
SINK, FEWEST = 0.5, 4

#: A preview in a notebook stays small; a saved picture shows what the page shows.
PREVIEW, SAVED = Bounds(48, 700, 160), Bounds(256, 60_000, 320)


def still(view: ViewData, bounds: Bounds = PREVIEW, language: str | None = None) -> str:
    """An SVG of what the view's state shows: stack, layer and heads, what is hidden, held and combined, in its theme and language."""
    words = Words(language or view.language)
    picture: str = named(VIEWS[view.kind].still)(view, bounds, caption_of(view, words.language), words)
    return on_dark(picture) if view.state.get("theme") == "dark" else picture


# ---- Head views: lines, or a heatmap


#: The side of a heatmap, in pixels; the most tokens with which a heatmap is labelled.
MAP_SIDE, LABELLED = 512, 40


def head_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """The heads switched on: lines, or a heatmap of their mean."""
    state, layer = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    record = stack["layers"][layer]
    number = record["layer"]
    part = visible_part(view, layer)
    heads, maps = heads_of(view, len(part.weights)), head_maps(view, part)
    named = (
        str(HeadRef("", number, head_number(record, heads[0])))
        if len(heads) == 1
        else words("figure.still.layer_heads", layer=number, heads=words.count("heads", len(heads)))
    )
    quantity = drawn_quantity(view)
    signed = quantity is not None and quantity["signed"]
    if quantity is not None and not (quantity["by_head"] and quantity["by_layer"]):
        named = words("figure.still.layer", layer=number) if quantity["by_layer"] else words("figure.still.all_layers")
    count, stack_name = words.count(f"{part.unit}s", len(part.queries)), words.name("stack", stack["name"])
    title = f"{quantity_title(quantity, words)}{view.spec['model']} · {stack_name} · {named} · {count}"
    if not part.queries or not part.keys:
        return svg(0, TOP + 16, f"{title} · {words('figure.still.nothing')}", "", caption)
    longest = max(len(part.queries), len(part.keys))
    as_heatmap = state.get("as", "lines" if longest <= SAVED.tokens else "heatmap") == "heatmap"
    if longest <= bounds.tokens and not as_heatmap:
        return head_lines(view, part, maps, (title, caption), bounds)
    if as_heatmap and len(maps) > 1:  # a heatmap has one head, as on the page; a preview of many lines has their mean
        maps, title = maps[:1], title.replace(named, str(HeadRef("", number, head_number(record, heads[0]))))
    elif len(maps) > 1:
        title += f", {words('figure.still.mean')}"
    mean = np.mean([each.weights for each in maps], axis=0) if maps else np.zeros_like(part.weights[0])
    strength = mean / max(float(np.abs(mean).max()), 1e-9) if state.get("rescale") else mean
    rows, columns = window(state.get("zoom", {}), mean.shape)
    dark = state.get("theme") == "dark"
    bars = part_colours(view, part, dark=dark)
    return heatmap(
        np.where(np.abs(mean) < state.get("threshold", 0.0), 0, strength)[rows, columns],
        title,
        caption,
        dark=state.get("theme") == "dark",
        labels=(part.queries[rows], part.keys[columns]),
        key=partial(part_legend, view, part, dark=dark),
        bars=tuple(colours[where] for colours, where in zip(bars, (rows, columns), strict=True)),
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


def head_lines(view: ViewData, part: VisiblePart, maps: list[HeadMap], words: tuple[str, str], bounds: Bounds) -> str:
    """Two columns of tokens and the lines between them, in the size of the zoom; of locked tokens only theirs, with arrows and sums."""
    state, held, colours, quantity = view.state, locked_units(view, part), colours_of(maps), drawn_quantity(view)
    to, zoom = state.get("direction") == "to", min(4.0, max(1.0, state.get("zoom", {}).get("k", 1.0)))
    row, size, room = ROW * zoom, SIZE * zoom, 52 if held else 0
    left = 16 + zoom * max(map(width, part.queries)) + (room if to else 0)
    right = left + bounds.between
    every, chosen = weights_of(maps, part), chosen_lines(view, part, maps, bounds.lines)
    queries, keys = (TOP + row * (np.arange(len(side)) + 0.5) for side in (part.queries, part.keys))
    at = LineEnds(left + 6, right - 6, queries, keys, spread=0.5 * row, dark=state.get("theme") == "dark")
    if quantity is not None and quantity["signed"]:
        chosen, colours, at = by_sign(chosen), [PAGE.negative, PAGE.positive], replace(at, spread=0)
    parts = list(paths(chosen, colours, at, widest=4 if held else 3, arrows=bool(held)))
    text = f'font-family="monospace" font-size="{size:.3g}"'
    needle = state.get("find", "").strip().lower()
    for tokens, x, anchor, side in ((part.queries, left, "end", not to), (part.keys, right, "start", to)):
        for index, token in enumerate(tokens):
            bold = ' font-weight="600"' if side and index in held else ""
            y, wide = TOP + row * (index + 0.5), zoom * width(token)
            if needle and needle in token.lower():
                start = x - wide if anchor == "end" else x
                parts.append(
                    f'<rect x="{start:.0f}" y="{y - row / 2 + 1:.0f}" width="{wide:.0f}" height="{row - 2:.0f}" fill="{PAGE.mark}"/>'
                )
            parts.append(
                f'<text x="{x:.0f}" y="{y + 0.33 * size:.1f}" text-anchor="{anchor}" {text}{bold}>{escape(printable(token))}</text>'
            )
    wide = right + zoom * max(map(width, part.keys)) + 16 + (room if not to else 0)
    if held and len(maps):
        unit = 1.0 if quantity is None else quantity["largest"]
        sums = unit * (every[:, :, held].sum(axis=2).mean(axis=0) if to else every[:, held].sum(axis=1).mean(axis=0))
        x = 16 + room - 8 if to else wide - 16
        parts += [
            f'<text x="{x:.0f}" y="{TOP + row * (index + 0.5) + 4:.0f}" text-anchor="end" fill="{PAGE.muted}">{value:.3f}</text>'
            for index, value in enumerate(sums)
            if abs(value) >= state.get("threshold", 0.0)
        ]
    bars = part_colours(view, part, dark=state.get("theme") == "dark")
    parts += [edge_bars(bars[0], left + 2, TOP, row * len(part.queries)), edge_bars(bars[1], right - 5, TOP, row * len(part.keys))]
    high = TOP + 16 + row * max(len(part.queries), len(part.keys))
    record = view.spec["stacks"][state.get("stack", 0)]["layers"][state.get("layer", 0)]
    if len(maps) > 1 and (quantity is None or not quantity["signed"]):
        squares, rows = legend([f"H{head_number(record, each.head)}" for each in maps], colours, 16, high - 4, wide - 32)
        parts.append(squares)
        high += rows
    squares, rows = part_legend(view, part, 16, high - 4, wide - 32, dark=state.get("theme") == "dark")
    return svg(wide, high + rows, words[0], "".join([*parts, squares]), words[1])


def chosen_lines(view: ViewData, part: VisiblePart, maps: list[HeadMap], most: int) -> LineSet:
    """The lines that the state shows: all that can be seen, or those of the held tokens."""
    held, to = locked_units(view, part) or None, view.state.get("direction") == "to"
    weights = weights_of(maps, part)
    sink = sink_of(weights) if view.state.get("mute_sinks", True) and drawn_quantity(view) is None else None
    if sink is not None and not (to and held and sink in held):
        weights = weights.copy()
        weights[:, :, sink] = 0
    return line_set(weights, view.state, most=most, rows=None if to else held, columns=held if to else None)


def sink_of(weights: np.ndarray) -> int | None:
    """The column that gets half or more of the attention of these maps, whose lines would hide all others. weights: [map, query, key]"""
    if not len(weights) or min(weights.shape[1:]) < FEWEST:
        return None
    shares = weights.mean(axis=(0, 1))  # [key]
    return int(shares.argmax()) if shares.max() >= SINK else None


def weights_of(maps: list[HeadMap], part: VisiblePart) -> np.ndarray:
    """[map, query, key]"""
    return np.stack([each.weights for each in maps]) if maps else np.zeros((0, len(part.queries), len(part.keys)))


def colours_of(maps: list[HeadMap]) -> list[str]:
    """The colour of each map."""
    return [PAGE.accent if each.head < 0 else head_colour(each.head) for each in maps]


#: Draws which part has which colour: x, y and the width that it may take → the drawing, and its height.
PartKey = Callable[[float, float, float], tuple[str, float]]


def heatmap(
    weights: np.ndarray, title: str, caption: str, *, dark: bool, labels: tuple[list[str], list[str]], words: Words, signed: bool = False,
    bars: tuple[list[str], ...] = ([], []), key: PartKey | None = None,
) -> str:  # fmt: skip
    """weights: [query, key], as a picture with a pixel for each, or for the largest of a block; a short text with its tokens beside it.

    bars: the colour of the part of each query and of each key, along the edges; key: what they mean"""
    queries, keys = labels
    if max(len(queries), len(keys)) <= LABELLED:
        return labelled_heatmap(weights, queries, keys, title, caption, dark=dark, signed=signed, bars=bars, key=key)
    small = pooled_signed(weights, MAP_SIDE) if signed else pooled(weights, MAP_SIDE)
    side = min(MAP_SIDE, max(256, max(small.shape)))
    picture = image(
        small, 16, TOP, side * small.shape[1] / max(small.shape), side * small.shape[0] / max(small.shape), dark=dark, signed=signed
    )
    across, down = (side * length / max(small.shape) for length in reversed(small.shape))
    picture += edge_bars(bars[0], 12, TOP, down) + edge_bars(bars[1], 16, TOP - 4, across, across=True)
    more = words(f"figure.still.{'signed' if signed else 'lighter' if dark else 'darker'}")
    notes = f'<text x="16" y="{TOP + side + 16}" fill="{PAGE.muted}">{more}</text>'
    squares, rows = key(16, TOP + side + 24, side) if key else ("", 0)
    return svg(side + 32, TOP + side + 28 + rows, title, picture + notes + squares, caption)


def labelled_heatmap(
    weights: np.ndarray, queries: list[str], keys: list[str], title: str, caption: str, *, dark: bool, signed: bool = False,
    bars: tuple[list[str], ...] = ([], []), key: PartKey | None = None,
) -> str:  # fmt: skip
    """A heatmap with the queries at its left and the keys, turned, above it."""
    left, above = 22 + max(map(width, queries)), TOP + 8 + max(map(width, keys))
    parts = [image(weights, left, above, ROW * len(keys), ROW * len(queries), dark=dark, signed=signed)]
    parts += [edge_bars(bars[0], left - 4, above, ROW * len(queries)), edge_bars(bars[1], left, above - 4, ROW * len(keys), across=True)]
    for row, token in enumerate(queries):
        y = above + 12 + row * ROW
        parts.append(f'<text x="{left - 6:.0f}" y="{y:.0f}" text-anchor="end" font-family="monospace">{escape(printable(token))}</text>')
    for column, token in enumerate(keys):
        x, y = round(left + 12 + column * ROW), round(above - 6)
        parts.append(f'<text x="{x}" y="{y}" transform="rotate(-90 {x} {y})" font-family="monospace">{escape(printable(token))}</text>')
    wide, high = left + ROW * len(keys) + 16, above + ROW * len(queries) + 12
    squares, rows = key(16, high - 4, wide - 32) if key else ("", 0)
    return svg(wide, high + rows, title, "".join([*parts, squares]), caption)


# ---- Model views: a thumbnail for each layer and head, in the colours that the page gives them


#: Sides of a thumbnail in pixels, in a notebook's preview and in a saved picture; tokens a side of a bundle of lines, cells of a heatmap.
SMALL_CELL, LARGE_CELL, STRANDS, CELLS = 28, 60, 40, 96

#: Of longer texts thumbnails are heatmaps, also where the page has lines.
LINES_UP_TO = 256


def model_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """The layers and heads of the stack that the state shows, a row a layer; or the head that is opened.

    A saved picture is larger, and has lines where the page has lines; a preview always has heatmaps, which are small files.
    """
    if view.state.get("opened"):
        return head_picture(view, bounds, caption, words)
    saved = bounds is SAVED
    state, size = view.state, LARGE_CELL if saved else SMALL_CELL
    dark = state.get("theme") == "dark"
    stack = view.spec["stacks"][state.get("stack", 0)]
    longest = max(len(text["tokens"]) for text in view.spec["texts"])
    as_lines = saved and state.get("as", "lines" if longest <= LINES_UP_TO else "heatmap") == "lines"
    rows, columns = state.get("rows"), state.get("columns")
    rows = list(range(len(stack["layers"]))) if rows is None else rows
    columns = list(range(max(layer["n_heads"] for layer in stack["layers"]))) if columns is None else columns
    step, small = size + 4, ' font-size="10"'
    parts = [
        f'<text x="{48 + at * step}" y="{TOP + 8}" fill="{PAGE.muted}"{small}>H{head_number(stack["layers"][0], head)}</text>'
        for at, head in enumerate(columns)
    ]
    count, unit, quantity = 0, "token", drawn_quantity(view)
    signed = quantity is not None and quantity["signed"]
    for row, index in enumerate(rows):
        y = TOP + 14 + row * step
        number = stack["layers"][index]["layer"]
        parts.append(f'<text x="40" y="{y + size / 2 + 4:.0f}" text-anchor="end" fill="{PAGE.muted}"{small}>L{number}</text>')
        part = visible_part(view, index)
        count, unit = len(part.queries), part.unit
        if not part.queries or not part.keys:
            continue
        for at, head in enumerate(columns if len(part.weights) > 1 else [0]):
            if head >= len(part.weights):
                continue
            colour = thumbnail_colour(view, index, head, dark=dark)
            x = 46 + at * step
            parts.append(f'<rect x="{x - 0.5}" y="{y - 0.5}" width="{size + 1}" height="{size + 1}" fill="none" stroke="{PAGE.hairline}"/>')
            bars = part_colours(view, part, dark=dark)
            parts.append(edge_bars(bars[0], x - 4, y, size))
            parts.append(edge_bars(bars[1], x + size + 1, y, size) if as_lines else edge_bars(bars[1], x, y - 4, size, across=True))
            draw = bundle if as_lines else tile
            parts.append(draw(part.weights[head], state, [PAGE.negative, PAGE.positive] if signed else [colour], (x, y, size), dark=dark))
    counts = f"{words.count('layers', len(rows))} · {words.count(f'{unit}s', count)}"
    title = f"{quantity_title(quantity, words)}{view.spec['model']} · {words.name('stack', stack['name'])} · {counts}"
    high, wide = TOP + 24 + len(rows) * step, 60 + len(columns) * step
    squares, more = part_legend(view, part, 16, high - 4, wide - 32, dark=dark) if rows else ("", 0)
    return svg(wide, high + more, title, "".join([*parts, squares]), caption)


def thumbnail_colour(view: ViewData, row: int, head: int, *, dark: bool) -> str:
    """The colour of a head's thumbnail: its own, that of its layer, or that of a grid."""
    by, stack = view.state.get("colour_by", "head"), view.spec["stacks"][view.state.get("stack", 0)]
    if by == "layer":
        return layer_colour(row, len(stack["layers"]), dark=dark)
    grid = next(
        (each for each in view.spec.get("grids", ()) if each["quantity"] == by and each.get("stack") in (None, stack["name"])), None
    )
    return head_colour(head, dark=dark) if grid is None else line_colour(grid, row, head, dark=dark)


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
    side = CELLS if size == LARGE_CELL else SMALL_CELL
    scale = max(float(np.abs(weights).max()), 1e-9) if state.get("rescale") else 1.0
    parts = np.where(np.abs(weights) < state.get("threshold", 0.0), 0, weights / scale)
    if len(colours) > 1:
        png = png_signed(pooled_signed(parts, side), dark=dark)
    else:
        steps = np.clip(np.rint(255 * np.sqrt(np.clip(pooled(parts, side), 0, 1))), 0, 255).astype(np.uint8)
        ground, full = rgb((DARK_PAGE if dark else LIGHT_PAGE).ground), [int(colours[0][at : at + 2], 16) for at in (1, 3, 5)]
        png = png_bytes(steps, np.linspace(ground, full, 256).round().astype(np.uint8))
    return (
        f'<image x="{x}" y="{y}" width="{size}" height="{size}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{base64.b64encode(png).decode()}"/>'
    )


# ---- Neuron views: from query and key to the weight, and from the weights to the sum of values


#: Keys drawn at most, and the widths of a strip, a number and a bar.
MOST_KEYS, STRIP, NUMBER, BAR, GAP = 48, 150, 76, 60, 14

#: Pixels from the headings of the columns to the first key: the query and the heading of the keys are between them.
FIRST_KEY = 54


@dataclass(frozen=True)
class QueryDetail:
    """Everything between one query and its keys. Arrays have a row a key that is shown.

    weights         the attention, or the quantity that is drawn in its place
    quantity        its method; empty for attention
    bias            added to each score; None where the model adds nothing
    masked          keys that the query may not look at
    contributions   attention x value; None where values were not kept
    output          their sum
    colours, key    of the part of each key, and what they mean; empty where parts are not drawn
    """

    query: str
    vector: np.ndarray
    tokens: list[str]
    keys: np.ndarray
    scores: np.ndarray
    weights: np.ndarray
    quantity: str
    bias: np.ndarray | None
    masked: np.ndarray
    contributions: np.ndarray | None
    output: np.ndarray | None
    left_out: int
    colours: list[str]
    key: PartKey


def neuron_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """Strips of the key, of query x key and of weight x value in a row a key; the query and the output above them."""
    state, at = view.state, view.state.get("layer", 0)
    stack = view.spec["stacks"][state.get("stack", 0)]
    layer, head = stack["layers"][at], (state.get("heads") or [0])[0]
    step = read(view, stack, layer, at, head)
    name = HeadRef("", layer["layer"], head_number(layer, head))
    title = f"{quantity_title(drawn_quantity(view), words)}{view.spec['model']} · {words.name('stack', stack['name'])} · {name}"
    if step is None:
        return svg(0, TOP + 16, f"{title} · {words('figure.still.nothing')}", "")
    title += f" · {words('figure.still.query', query=step.query)}"
    if step.left_out:
        title += f", {words('figure.still.strongest', n=len(step.tokens), of=len(step.tokens) + step.left_out)}"
    return query_picture(step, title, stack.get("why_no_values", ""), layer["scale"], caption, words, dark=state.get("theme") == "dark")


def read(view: ViewData, stack: dict[str, Any], layer: dict[str, Any], at: int, head: int) -> QueryDetail | None:
    """What the neuron view shows of one query; None where all its tokens are hidden."""
    part = visible_part(view, at, level="token")
    if not part.rows or not part.columns:
        return None
    query = view.state.get("query", 0)
    row = part.rows.index(query) if query in part.rows else 0
    quantity = drawn_quantity(view)
    method, unit = ("", 1.0) if quantity is None else (str(quantity["method"]), float(quantity["largest"]))
    weights = part.weights[min(head, len(part.weights) - 1), row]  # [key]; a quantity without heads has one map
    amounts = np.nan_to_num(abs(weights))
    above = np.flatnonzero(amounts >= view.state.get("threshold", 0.0))
    chosen = np.sort(above[np.argsort(-amounts[above], kind="stable")[:MOST_KEYS]])
    columns = [part.columns[index] for index in chosen]
    dark = view.state.get("theme") == "dark"
    colours = part_colours(view, part, dark=dark)[1]
    queries, keys = (view.arrays[layer[what]].decode() for what in ("queries", "keys"))  # [head, token, dim]
    vector = queries[head, part.rows[row]]
    kept = keys[head * len(keys) // len(queries)][columns]
    query_index = part.rows[row]
    bias = view.arrays[layer["bias"]].decode()[head, query_index, columns] if layer.get("bias") else None
    mask = view.arrays[layer["mask"]].decode()[query_index, columns] if layer.get("mask") else np.ones(len(columns))
    contributions = output = None
    if layer.get("values"):
        values = view.arrays[layer["values"]].decode()
        every = values[head * len(values) // len(queries)]  # [key, dim]
        attention = weights if quantity is None else view.weights(view.state.get("stack", 0), at)[head, query_index, part.columns]
        contributions = attention[chosen][:, None] * every[columns]
        output = head_outputs(attention[None, None], every[None, part.columns])[0, 0]
    return QueryDetail(
        part.queries[row], vector, [part.keys[index] for index in chosen], kept, kept @ vector * layer["scale"], weights[chosen] * unit,
        method, bias, mask == 0, contributions, output, len(above) - len(chosen),
        [colours[index] for index in chosen] if colours else [], partial(part_legend, view, part, dark=dark),
    )  # fmt: skip


def query_picture(step: QueryDetail, title: str, why_no_values: str, scale: float, caption: str, words: Words, *, dark: bool) -> str:
    """The picture of one query, step by step, as SVG."""
    left = 16 + max(map(width, [*step.tokens, step.query]))
    xs = {"key": left + GAP}
    xs["product"] = xs["key"] + STRIP + GAP
    xs["score"] = xs["product"] + STRIP + GAP
    xs["bias"] = xs["score"] + NUMBER + GAP
    xs["weight"] = xs["bias"] + (NUMBER + GAP if step.bias is not None else 0)
    xs["value"] = xs["weight"] + NUMBER + BAR + GAP
    right = xs["value"] + (STRIP if step.contributions is not None else 0)
    products = step.keys * step.vector
    most = {"key": largest(step.vector, step.keys), "product": largest(products)}
    longest = 1.0 if not step.quantity else float(np.nan_to_num(abs(step.weights)).max(initial=0)) or 1.0
    top = TOP + 4
    body = [
        quiet_text(xs["key"], top + 8, f"{words('view.query_vector')} · ±{most['key']:.1f}"),
        quiet_text(xs["score"], top + 8, f"q·k × {scale:.4g}"),
        quiet_text(xs["product"], top + 8, f"{words('view.product')} · ±{most['product']:.1f}"),
        quiet_text(xs["weight"], top + 8, step.quantity or words("view.weight")),
        *([quiet_text(xs["bias"], top + 8, words("view.bias"))] if step.bias is not None else []),
        token_text(left, top + 28, step.query, bold=True),
        quiet_text(xs["key"], top + 48, words("view.keys")),
        vector_strip(step.vector, most["key"], xs["key"], top + 16, dark=dark),
    ]
    if step.contributions is not None and step.output is not None:
        most["value"] = largest(step.contributions, step.output)
        body.append(quiet_text(xs["value"], top + 8, f"{words('view.output')} · ±{most['value']:.1f}"))
        body.append(vector_strip(step.output, most["value"], xs["value"], top + 16, dark=dark))
        right = max(right, xs["value"] + width(f"{words('view.output')} · ±10.0"))
    for row, text in enumerate(step.tokens):
        y, masked = top + FIRST_KEY + row * ROW, bool(step.masked[row])
        cells = [token_text(left, y + 12, text)]
        if step.colours:
            cells.append(edge_bars(step.colours[row : row + 1], 4, y, ROW))
        cells.append(vector_strip(step.keys[row], most["key"], xs["key"], y, dark=dark))
        cells.append(vector_strip(products[row], most["product"], xs["product"], y, dark=dark))
        cells.append(quiet_text(xs["score"] + NUMBER, y + 12, written_number(step.scores[row]), end=True))
        if step.bias is not None:
            cells.append(quiet_text(xs["bias"] + NUMBER, y + 12, written_number(step.bias[row]), end=True))
        weight = float(step.weights[row])
        written = words("view.masked") if masked else "–" if np.isnan(weight) else f"{weight:.3f}".replace("-", "−")
        cells.append(quiet_text(xs["weight"] + (46 if masked else 40), y + 12, written, end=True))
        long, fill = BAR * abs(np.nan_to_num(weight)) / longest, PAGE.muted if not weight < 0 else PAGE.negative
        cells.append(f'<rect x="{xs["weight"] + 46:.0f}" y="{y + 2:.0f}" width="{long:.1f}" height="10" fill="{fill}"/>')
        if step.contributions is not None:
            cells.append(vector_strip(step.contributions[row], most["value"], xs["value"], y, dark=dark))
        body.append(f'<g opacity="0.35">{"".join(cells)}</g>' if masked else "".join(cells))
    high = top + FIRST_KEY + ROW * len(step.tokens) + 8
    if step.contributions is None and why_no_values:
        why = words(f"view.values_{why_no_values}")
        body.append(quiet_text(16, high + 10, why))
        high, right = high + 20, max(right, 16 + width(why))
    squares, rows = step.key(16, high - 4, right - 16)
    return svg(right + 16, high + rows, title, "".join([*body, squares]), caption)


def written_number(value: float) -> str:
    """A number with a true minus sign; −∞ for a bias of minus infinity."""
    return "−∞" if value < LOWEST / 6 else f"{round(float(value), 2) + 0.0:.2f}".replace("-", "−")


def token_text(x: float, y: float, text: str, *, bold: bool = False) -> str:
    """A token as SVG text that ends at x."""
    weight = ' font-weight="600"' if bold else ""
    return f'<text x="{x:.0f}" y="{y:.0f}" text-anchor="end" font-family="monospace"{weight}>{escape(printable(text))}</text>'


def quiet_text(x: float, y: float, text: str, *, end: bool = False) -> str:
    """A text in the colour of secondary information, as SVG."""
    anchor = ' text-anchor="end"' if end else ""
    return f'<text x="{x:.0f}" y="{y:.0f}"{anchor} fill="{PAGE.muted}">{escape(printable(text))}</text>'


def vector_strip(values: np.ndarray, most: float, x: float, y: float, *, dark: bool) -> str:
    """One cell a dimension: blue negative, orange positive, the ground at zero."""
    data = base64.b64encode(png_bytes(signed_colours(values / most, dark=dark)[None])).decode()
    return (
        f'<image x="{x:.0f}" y="{y:.0f}" width="{STRIP}" height="{ROW - 3}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def signed_colours(values: np.ndarray, *, dark: bool) -> np.ndarray:
    """values from -1 to 1 → [..., 3] bytes, as signedColour of frontend/src/core/colours.ts.

    >>> signed_colours(np.array([-1.0, 0.0, 1.0]), dark=False).tolist()
    [[37, 99, 235], [255, 255, 255], [234, 88, 12]]
    """
    below, ground, above = (rgb(colour) for colour in (SIGNED_DARK if dark else SIGNED))
    share = np.minimum(1, np.abs(values))[..., None] ** 0.65
    ends = np.where((values < 0)[..., None], below, above)
    return np.asarray(np.rint(ground + (ends - ground) * share).astype(np.uint8))


def largest(*arrays: np.ndarray) -> float:
    """The largest absolute value of all arrays; never 0."""
    return max(1e-9, *(float(np.abs(array).max(initial=0)) for array in arrays))
