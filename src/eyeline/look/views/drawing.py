"""What the still pictures are drawn with: the weights and labels that a state shows, lines, heatmaps, colours and the page around them."""

from __future__ import annotations

import base64
import functools
import re
import struct
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass, replace
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE, SIGNED, SIGNED_DARK, attention_colour, head_colour, part_colour, rgb
from eyeline.look.views.data import ViewData
from eyeline.mathematics import pool_to_words
from eyeline.text.tokenized import TokenizedText, columns, printable
from eyeline.words import Words, key_of

# ---- What the state shows: as frontend/src/core/reading/reading.ts does for the page


SIDE = {"a": 0, "b": 1}


@dataclass(frozen=True)
class VisiblePart:
    """weights [head, query, key] between the tokens or words that are left in; rows and columns are their indices in the text.

    parts   the index of the part that each query and each key belongs to; empty where a text has no parts
    """

    weights: np.ndarray
    queries: list[str]
    keys: list[str]
    unit: str
    rows: list[int]
    columns: list[int]
    parts: tuple[list[int], ...] = ([], [])


@dataclass(frozen=True)
class HeadMap:
    """What one colour shows: a head, or several combined (head -1). weights: [query, key]."""

    head: int
    weights: np.ndarray


def visible_part(view: ViewData, layer: int, *, level: str | None = None, sink_layer: int | None = None) -> VisiblePart:
    """The part of the layer at this index that the view's state shows: words or tokens, without those that are hidden.

    level        token or word; None: that of the state
    sink_layer   the index of the layer whose most attended token is hidden; None: this layer
    """
    state = view.state if level is None else {**view.state, "level": level}
    at = state.get("stack", 0)
    stack = view.spec["stacks"][at]
    weights = view.weights(at, layer, state.get("drawn", 0))  # [head, query, key]
    query_text, key_text = (text_of(view.spec["texts"][stack[side]]) for side in ("query_text", "key_text"))
    sums = weights if sink_layer is None else view.weights(at, sink_layer)
    sink = int(np.nansum(sums, axis=(0, 1)).argmax()) if state.get("hide_sink") else None
    groups = key_text.word_groups if state.get("level") == "word" else [(index,) for index in range(len(key_text))]
    if state.get("level") == "word":
        weights = pool_to_words(weights, query_text.word_groups, key_text.word_groups)
        query_text, key_text = query_text.at_word_level(), key_text.at_word_level()
    segments = state.get("segments", "all")
    sides = (None, None) if segments == "all" else (SIDE[segments[0]], SIDE[segments[1]])
    rows = left_in(query_text, state, sides[0], "query_part")
    columns = [index for index in left_in(key_text, state, sides[1], "key_part") if sink is None or sink not in groups[index]]
    weights = weights[:, rows][:, :, columns]
    if state.get("renormalise"):
        sums = np.abs(weights).sum(axis=-1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    unit = "word" if state.get("level") == "word" else "token"
    parts = tuple([text.part_of[index] for index in each] if text.parts else [] for text, each in ((query_text, rows), (key_text, columns)))
    return VisiblePart(
        weights, [query_text.tokens[row] for row in rows], [key_text.tokens[column] for column in columns], unit, rows, columns, parts
    )


def head_maps(view: ViewData, part: VisiblePart) -> list[HeadMap]:
    """The maps that the state shows of its layer: one for each head, or one for all of them and of other layers."""
    state, at = view.state, view.state.get("layer", 0)
    heads = heads_of(view, len(part.weights))
    if state.get("combine", "each") == "each" or not heads:
        return [HeadMap(head, part.weights[head]) for head in heads]
    layers = sorted({at, *state.get("combine_layers", ())})
    every = [part if layer == at else visible_part(view, layer, sink_layer=at) for layer in layers]
    chosen = np.concatenate([each.weights[[head for head in heads if head < len(each.weights)]] for each in every])
    return [HeadMap(-1, chosen.mean(axis=0) if state["combine"] == "mean" else chosen.max(axis=0))]


def drawn_quantity(view: ViewData) -> Mapping[str, Any] | None:
    """The record of the quantity that the state draws; None where it is attention."""
    quantities = view.spec.get("quantities")
    record = None if quantities is None else quantities[view.state.get("drawn", 0)]
    return None if record is None or record["method"] == "attention" else record


def quantity_title(quantity: Mapping[str, Any] | None, words: Words) -> str:
    """The name of a quantity, with the answer that it is about, as the beginning of a title; empty for attention."""
    if quantity is None:
        return ""
    answer = quantity["answer"].strip()
    lengths = "_lengths" if quantity["method"] == "decompx" and not answer else ""
    name = (
        quantity["name"]
        if words.language == "en"
        else words.messages.get(f"view.drawn_{key_of(quantity['method'])}{lengths}", quantity["name"])
    )
    return f"{name} → {answer} · " if answer else f"{name} · "


def locked_units(view: ViewData, part: VisiblePart) -> list[int]:
    """Rows (direction "from") or columns (direction "to") of the map that hold a locked token."""
    state = view.state
    stack = view.spec["stacks"][state.get("stack", 0)]
    side = "key_text" if state.get("direction") == "to" else "query_text"
    text = text_of(view.spec["texts"][stack[side]])
    groups = text.word_groups if part.unit == "word" else [(index,) for index in range(len(text))]
    units = part.columns if state.get("direction") == "to" else part.rows
    return [index for index, unit in enumerate(units) if set(groups[unit]) & set(state.get("locked", ()))]


def text_of(record: Mapping[str, Any]) -> TokenizedText:
    """A text of the spec as a TokenizedText."""
    return TokenizedText(**{name: tuple(values) for name, values in record.items()})


def left_in(text: TokenizedText, state: Mapping[str, Any], side: int | None, part_key: str) -> list[int]:
    """The indices of the tokens that the state does not hide. part_key: of the state, which names the part that is left in."""
    part = state.get(part_key) if text.parts else None
    return [
        index
        for index in range(len(text))
        if not (state.get("hide_special") and text.special[index])
        and side in (None, text.segments[index])
        and part in (None, *text.part_of[index : index + 1])
    ]


def heads_of(view: ViewData, count: int) -> list[int]:
    """The heads switched on; all where the state has no `heads`. A quantity without heads counts as one head."""
    heads = view.state.get("heads")
    if count == 1 and heads:
        return [0]
    return list(range(count)) if heads is None else [head for head in heads if head < count]


def part_colours(view: ViewData, part: VisiblePart, *, dark: bool) -> tuple[list[str], list[str]]:
    """The colour of the part of each query and of each key; empty where the state does not ask for it or there are no parts."""
    queries, keys = ([part_colour(index, dark=dark) for index in side] if view.state.get("colour_parts") else [] for side in part.parts)
    return queries, keys


def edge_bars(colours: Sequence[str], x: float, y: float, length: float, *, across: bool = False) -> str:
    """A bar of 3 pixels along an edge, with the colour of each of its units: down from its corner, or across."""
    bars, start = [], 0
    for index in range(1, len(colours) + 1):
        if index < len(colours) and colours[index] == colours[start]:
            continue
        at, long = start * length / len(colours), (index - start) * length / len(colours)
        box = (x + at, y, long, 3) if across else (x, y + at, 3, long)
        bars.append('<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}"'.format(*box) + f' fill="{colours[start]}"/>')
        start = index
    return "".join(bars)


def part_legend(view: ViewData, part: VisiblePart, x: float, y: float, wide: float, *, dark: bool) -> tuple[str, float]:
    """The parts that are shown, each with its colour, and the height that they take."""
    if not view.state.get("colour_parts") or not any(part.parts):
        return "", 0
    stack = view.spec["stacks"][view.state.get("stack", 0)]
    names: dict[str, str] = {}
    for side, indices in zip(("query_text", "key_text"), part.parts, strict=True):
        known = view.spec["texts"][stack[side]].get("parts", ())
        names |= {known[index]: part_colour(index, dark=dark) for index in sorted(set(indices))}
    return legend(list(names), list(names.values()), x, y, wide)


def head_number(layer: Mapping[str, Any], index: int) -> int:
    """The number that the model gives to the head at an index of a layer of the spec."""
    return int(layer["heads"][index]) if "heads" in layer else index


# ---- The line under a picture: what the state left out or changed


SWITCHES = ("hide_special", "hide_sink", "renormalise", "rescale")


def caption_of(view: ViewData, language: str = "en") -> str:
    """What differs from the plain weights between all tokens; empty where nothing does.

    Only the options of this kind of view are named: a neuron view has no words and no direction.
    """
    words, state = Words(language), view.state
    parts: list[str] = []
    between = view.kind != "neuron"
    if between and state.get("level") == "word":
        parts.append(words("figure.caption.word"))
    if state.get("segments", "all") != "all":
        first, second = state["segments"].upper()
        parts.append(words("figure.caption.segments", first=first, second=second))
    stack = view.spec["stacks"][state.get("stack", 0)]
    for key, side in (("query_part", "query_text"), ("key_part", "key_text")):
        if state.get(key) is not None:
            parts.append(f"{words(f'view.{key}')}: {view.spec['texts'][stack[side]]['parts'][state[key]]}")
    parts += [words(f"figure.caption.{key}") for key in SWITCHES if state.get(key)]
    if state.get("threshold"):
        parts.append(words("figure.label.weights_from", threshold=f"{state['threshold']:g}"))
    if between and state.get("combine", "each") != "each":
        layers = view.spec["stacks"][state.get("stack", 0)]["layers"]
        numbers = [layers[at]["layer"] for at in sorted({state.get("layer", 0), *state.get("combine_layers", ())})]
        several = "_layers" if len(numbers) > 1 else ""
        parts.append(words(f"figure.caption.{state['combine']}{several}", layers=", ".join(map(str, numbers))))
    if between and state.get("locked"):
        parts.append(words(f"figure.caption.held_{state.get('direction', 'from')}", n=len(state["locked"])))
    return " · ".join(parts)


# ---- Lines: those that the page draws (frontend/src/marks/lines.ts), as few paths


#: The opacity below which a line cannot be seen, and below which it has no arrowhead.
FAINTEST, FAINT_ARROW = 2.5 / 255, 0.06

#: Up to so many lines each has its full colour, and a weak one is thin; of more, weak ones are faint. The width of the thinnest.
FEW_LINES, THINNEST = 200, 0.5

#: Lines of one colour and nearly one opacity are one path.
LEVELS = 24


@dataclass(frozen=True)
class LineSet:
    """One entry a line: index of its map, its query and its key; its weight and its opacity."""

    map: np.ndarray
    query: np.ndarray
    key: np.ndarray
    weight: np.ndarray
    opacity: np.ndarray

    def __len__(self) -> int:
        return len(self.map)


@dataclass(frozen=True)
class LineEnds:
    """Where lines begin and end: x of the two sides, y of each query and of each key; `spread` sets the maps apart; `dark`: the ground."""

    left: float
    right: float
    queries: np.ndarray
    keys: np.ndarray
    spread: float = 0
    curved: bool = True
    dark: bool = False


def line_set(
    weights: np.ndarray,
    state: Mapping[str, Any],
    *,
    most: int,
    rows: Sequence[int] | None = None,
    columns: Sequence[int] | None = None,
    floor: float = 0.0,
) -> LineSet:
    """The lines that can be seen, weakest first.

    weights         [map, query, key]; the strength of a number with a sign is its absolute value
    most            how many lines are kept, the strongest
    rows, columns   the queries or keys that are shown alone; None: all
    floor           the least strength that is drawn, if more than what can be seen
    """
    size = np.abs(weights)
    largest = np.maximum(size.max(axis=(1, 2), keepdims=True, initial=0), 1e-9)
    strength = size / largest if state.get("rescale") else np.minimum(size, 1)
    allowed = (size >= state.get("threshold", 0.0)) & (strength >= max(FAINTEST ** (1 / 0.85), floor))
    alone = np.zeros(weights.shape[1:], dtype=bool)
    if rows is not None:
        alone[list(rows)] = True
        allowed &= alone
    elif columns is not None:
        alone[:, list(columns)] = True
        allowed &= alone
    index = np.flatnonzero(allowed)
    index = index[np.argsort(strength.flat[index], kind="stable")][-most:]
    number, query, key = np.unravel_index(index, weights.shape)
    return LineSet(number, query, key, weights.flat[index], strength.flat[index] ** 0.85)


def by_sign(lines: LineSet) -> LineSet:
    """The same lines as two maps: those below zero, then those above."""
    return replace(lines, map=(lines.weight >= 0).astype(int))


def raised(opacity: float) -> float:
    """A faint line has less contrast with a dark ground than with a white one; this gives it at least as much (lines.ts)."""
    return float(opacity**0.8)


def paths(lines: LineSet, colours: Sequence[str], at: LineEnds, *, widest: float, arrows: bool = False) -> Iterator[str]:
    """The lines as SVG paths, faint ones first, so that strong ones lie on top."""
    thin = at.curved and len(lines) <= FEW_LINES
    level = np.minimum(LEVELS - 1, (np.sqrt(lines.opacity) * LEVELS).astype(int))
    shift = [((number + 0.5) / len(colours) - 0.5) * at.spread if len(colours) > 1 else 0.0 for number in range(len(colours))]
    bend = 0.4 * (at.right - at.left)
    for group in np.unique(level * len(colours) + lines.map):
        chosen = np.flatnonzero(level * len(colours) + lines.map == group)
        number = int(group) % len(colours)
        opacity = float(lines.opacity[chosen].mean())
        ends = [at.queries[lines.query[chosen]] + shift[number], at.keys[lines.key[chosen]] + shift[number]]
        path = "".join(
            f"M{at.left:.1f} {y1:.1f}C{at.left + bend:.1f} {y1:.1f} {at.right - bend:.1f} {y2:.1f} {at.right:.1f} {y2:.1f}"
            if at.curved
            else f"M{at.left:.1f} {y1:.1f}L{at.right:.1f} {y2:.1f}"
            for y1, y2 in zip(*ends, strict=True)
        )
        thinnest, is_faint = THINNEST if thin else 0.75, opacity < FAINT_ARROW
        width = thinnest + (widest - thinnest) * opacity
        opacity = 1.0 if thin else raised(opacity) if at.dark else opacity
        yield f'<path d="{path}" fill="none" stroke="{colours[number]}" stroke-width="{width:.2f}" opacity="{opacity:.3f}"/>'
        if arrows and not is_faint:
            heads = "".join(f"M{at.right:.1f} {y:.1f}l-7 -3l0 6Z" for y in ends[1])
            yield f'<path d="{heads}" fill="{colours[number]}" opacity="{opacity:.3f}"/>'


# ---- The page, its colours and its texts


#: Pictures are drawn in the colours of a light page; on_dark exchanges them for those of a dark one.
PAGE = LIGHT_PAGE

#: More heads than any layer has.
MOST_HEADS = 256

#: The height of a row of text, the size of the font and the width of a character, in pixels.
ROW, SIZE, CHAR = 17, 12, 7.3

#: Where the picture begins below its title.
TOP = 34


def svg(wide: float, high: float, title: str, body: str, caption: str = "") -> str:
    """The whole picture: its title above, and the caption, if any, below."""
    if caption:
        body += f'<text x="16" y="{round(high) + 14}" fill="{PAGE.muted}">{escape(printable(caption))}</text>'
        high += 24
    wide, high = max(round(wide), round(32 + 0.95 * max(width(title), width(caption)))), round(high)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'font-family="system-ui, sans-serif" font-size="{SIZE}" fill="{PAGE.text}"><title>{escape(printable(title))}</title>'
        f'<rect width="100%" height="100%" fill="{PAGE.ground}"/><text x="16" y="20">{escape(printable(title))}</text>{body}</svg>'
    )


def legend(names: list[str], colours: list[str], x: float, y: float, wide: float) -> tuple[str, float]:
    """A small square of each colour with its name, in as many rows as the width needs, and the height of these rows."""
    parts, start, top = [], x, y
    for name, colour in zip(names, colours, strict=True):
        needed = 16 + width(name) + 10
        if x > start and x + needed - 10 > start + wide:
            x, y = start, y + ROW
        parts.append(f'<rect x="{x:.0f}" y="{y:.0f}" width="10" height="10" fill="{colour}"/>')
        parts.append(f'<text x="{x + 14:.0f}" y="{y + 9:.0f}">{name}</text>')
        x += needed
    return "".join(parts), y + ROW - top


def width(text: str) -> float:
    """About how wide the text is, in pixels: East Asian characters and emoji take two columns."""
    return CHAR * columns(printable(text))


def on_dark(picture: str) -> str:
    """A picture in the colours of a dark page; heads keep their hue, as light as it takes to be seen."""
    colours = _on_dark_page()
    return re.sub(r'(fill|stroke)="(#[0-9a-f]{6})"', lambda match: f'{match[1]}="{colours.get(match[2], match[2])}"', picture)


@functools.cache
def _on_dark_page() -> dict[str, str]:
    heads = {head_colour(head): head_colour(head, dark=True) for head in range(MOST_HEADS)}
    return {**heads, **dict(zip(astuple(PAGE), astuple(DARK_PAGE), strict=True))}


# ---- Weights as small pictures


def pooled(weights: np.ndarray, side: int) -> np.ndarray:
    """The largest weight of each block, so that at most `side` rows and columns are left and no strong cell is lost."""
    for axis in (0, 1):
        if (count := weights.shape[axis]) > side:
            weights = np.maximum.reduceat(weights, np.arange(side) * count // side, axis=axis)
    return weights


def pooled_signed(weights: np.ndarray, side: int) -> np.ndarray:
    """The same for numbers with a sign: of each block the one farthest from zero."""
    high, low = pooled(weights, side), -pooled(-weights, side)
    return np.where(high >= -low, high, low)


def image(weights: np.ndarray, x: float, y: float, wide: float, high: float, *, dark: bool = False, signed: bool = False) -> str:
    """Weights as an SVG image with one pixel for each weight."""
    data = base64.b64encode(png_signed(weights, dark=dark) if signed else png(weights, dark=dark)).decode()
    return (
        f'<image x="{x:.0f}" y="{y:.0f}" width="{wide:.0f}" height="{high:.0f}" preserveAspectRatio="none" '
        f'style="image-rendering:pixelated" href="data:image/png;base64,{data}"/>'
    )


def png(weights: np.ndarray, *, dark: bool = False) -> bytes:
    """In the page's colours of attention, by the square root of the weight, as a PNG with a palette."""
    steps = np.clip(np.rint(np.sqrt(np.clip(weights, 0, 1)) * 255), 0, 255).astype(np.uint8)  # [row, column]
    return png_bytes(steps, attention_ramp(dark=dark))


@functools.lru_cache(maxsize=2)
def attention_ramp(*, dark: bool) -> np.ndarray:
    """[step, (red, green, blue)]: the colours of 256 weights from 0 to 1."""
    return np.array([rgb(attention_colour(step / 255, dark=dark)) for step in range(256)], dtype=np.uint8)


def png_signed(parts: np.ndarray, *, dark: bool = False) -> bytes:
    """From −1 to 1: blue, the ground, orange. Small numbers rise fast (frontend/src/core/colours.ts: signedColour)."""
    parts = np.clip(parts, -1, 1)
    steps = np.clip(np.rint((np.sign(parts) * np.abs(parts) ** 0.65 + 1) / 2 * 254), 0, 254).astype(np.uint8)  # [row, column]
    below, ground, above = (rgb(colour) for colour in (SIGNED_DARK if dark else SIGNED))
    ramp = np.concatenate([np.linspace(below, ground, 128), np.linspace(ground, above, 128)[1:]])
    return png_bytes(steps, ramp.round().astype(np.uint8))


# ---- PNG files without an image library


INDEXED, RGB = 3, 2  # colour types of the format


def png_bytes(pixels: np.ndarray, palette: np.ndarray | None = None) -> bytes:
    """pixels: [row, column, 3] bytes, red, green and blue; or [row, column] indices into a palette [colour, 3]."""
    rows = np.pad(pixels.reshape(len(pixels), -1), ((0, 0), (1, 0)))  # each row begins with its filter: none
    header = struct.pack(">IIBBBBB", pixels.shape[1], pixels.shape[0], 8, RGB if palette is None else INDEXED, 0, 0, 0)
    colours = b"" if palette is None else _chunk(b"PLTE", palette.tobytes())
    return (
        b"\x89PNG\r\n\x1a\n" + _chunk(b"IHDR", header) + colours + _chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + _chunk(b"IEND", b"")
    )


def _chunk(name: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))
