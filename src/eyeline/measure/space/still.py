"""The still picture of a space: all heads as pixels, or one that is opened."""

from __future__ import annotations

import base64
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from xml.sax.saxutils import escape

import numpy as np

from eyeline.errors import EyelineError
from eyeline.heads import HeadRef
from eyeline.look.palette import DARK_PAGE, LIGHT_PAGE, rgb
from eyeline.look.views.data import ViewData
from eyeline.look.views.drawing import PAGE, SIZE, png_bytes, svg, text_of, width
from eyeline.look.views.still import Bounds
from eyeline.text.named_pairs import SEPARATOR, named_pairs
from eyeline.text.tokenized import printable
from eyeline.words import Words, percent

# ---- All heads as pixels, with names and fidelity around them


#: Sides of the square of one head in pixels: among all heads, and opened.
SMALL_PANEL, LARGE_PANEL = 76, 440

#: More heads than this are not drawn one by one.
MOST_ROWS, MOST_COLUMNS = 32, 32


def space_picture(view: ViewData, bounds: Bounds, caption: str, words: Words) -> str:
    """All heads as pixels, or the one that is opened. It is bounded by its panels, and has no caption."""
    state, space = view.state, view.spec["spaces"][0]
    stack = space["stacks"][state.get("stack", 0)]
    points = sum(len(view.spec["texts"][text]["tokens"]) for text in stack["key_texts"])
    queries = 0 if space["of"] == "values" else sum(len(view.spec["texts"][text]["tokens"]) for text in stack["query_texts"])
    title = f"{space['model']} · {words.name('space', space['of'].replace('-', ' and '))} · {space['project']}, {space['dims']}-D"
    if state.get("opened"):
        layer, head = state.get("layer", 0), (state.get("heads") or [0])[0]
        body = panel(stack, layer, head, drawn_points(view, layer, head, (16, 52), LARGE_PANEL), (16, 52, LARGE_PANEL))
        title = f"{title} · {head_name(stack, layer, head)} · {words.count('tokens', points)}"
        return svg(LARGE_PANEL + 32, LARGE_PANEL + 76, title, body)
    rows, columns = stack["layers"][:MOST_ROWS], stack["heads"][:MOST_COLUMNS]
    step, dark = SMALL_PANEL + 12, state.get("theme") == "dark"
    parts = [
        small_panel(stack, layer, head, points_of_head, queries, (16 + head * step, 52 + layer * (step + 12), SMALL_PANEL), dark=dark)
        for layer in range(len(rows))
        for head, points_of_head in enumerate(layer_points(view, stack, layer)[: len(columns)])
    ]
    title = f"{title} · {words.count('tokens', points)}"
    return svg(20 + len(columns) * step, 52 + len(rows) * (step + 12), title, "".join(parts))


def head_name(stack: dict[str, Any], layer: int, head: int) -> str:
    """The label of a head: L3·H7."""
    return str(HeadRef("", stack["layers"][layer]["layer"], stack["heads"][head]))


def layer_points(view: ViewData, stack: dict[str, Any], layer: int) -> np.ndarray:
    """[head, point, 2]: the positions of a layer's points, from 0 to 1; a cube is seen from the front."""
    return view.arrays[stack["layers"][layer]["points"]].decode()[..., :2] / 65535


def small_panel(
    stack: dict[str, Any], layer: int, head: int, points: np.ndarray, queries: int, box: tuple[int, int, int], *, dark: bool
) -> str:
    """One head of many: its points [point, 2] as pixels, queries first."""
    x, y, size = box
    data = base64.b64encode(png_bytes(shaded_points(points, queries, size, dark=dark))).decode()
    image = f'<image x="{x}" y="{y}" width="{size}" height="{size}" href="data:image/png;base64,{data}"/>'
    return panel(stack, layer, head, image, box)


def panel(stack: dict[str, Any], layer: int, head: int, body: str, box: tuple[int, int, int]) -> str:
    """The name of a head and how often the nearest key is the most attended one, above its drawing in a frame."""
    x, y, size = box
    facts = stack["layers"][layer]["facts"][head]
    fidelity = next((facts[column] for column in ("top1_held_out", "top1_projected") if facts.get(column) is not None), None)
    written = "" if fidelity is None else f'<text x="{x + size}" y="{y - 5}" text-anchor="end" opacity="0.7">{percent(fidelity)}</text>'
    return (
        f'<g font-size="{10 if size == SMALL_PANEL else 12}"><text x="{x}" y="{y - 5}">{head_name(stack, layer, head)}</text>{written}</g>'
        f"{body}"
        f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="none" stroke="{PAGE.hairline}"/>'
    )


def shaded_points(points: np.ndarray, keys_from: int, size: int, *, dark: bool = False) -> np.ndarray:
    """[row, column, 3]: the ground where nothing is; elsewhere the mean colour of the points there, the stronger the more there are.

    points: [point, 2], from 0 to 1; from `keys_from` on they are keys.
    """
    at = np.clip((points * [1, -1] + [0, 1]) * size, 0, size - 1).astype(int)  # [point, (column, row)]
    cells = at[:, 1] * size + at[:, 0]
    queries = np.bincount(cells[:keys_from], minlength=size * size)
    keys = np.bincount(cells[keys_from:], minlength=size * size)
    both = np.maximum(queries + keys, 1)[:, None]
    page = DARK_PAGE if dark else LIGHT_PAGE
    colour = (queries[:, None] * rgb(page.query) + keys[:, None] * rgb(page.key)) / both
    cover = (1 - np.exp(-0.8 * (queries + keys)))[:, None]
    return np.asarray(np.rint(rgb(page.ground) * (1 - cover) + colour * cover).astype(np.uint8).reshape(size, size, 3))


# ---- One head of a space, opened: its points, lines and red pairs as the state shows them (frontend/src/views/space/)


#: The least weight of a line of the chosen point; the most points that are labelled with their token.
FAINT, MOST_LABELS = 0.01, 60

#: From the middle to the top, and around.
DOT = "l0 -2.8l2 0.8l0.8 2l-0.8 2l-2 0.8l-2 -0.8l-0.8 -2l0.8 -2l2 -0.8Z"

DIAMOND = "l0 -3.4l3 3.4l-3 3.4l-3 -3.4l3 -3.4Z"


@dataclass(frozen=True)
class SpaceLink:
    """From the point of a query to the point of a key: indices of points, queries first."""

    start: int
    end: int
    weight: float


@dataclass(frozen=True)
class OpenHead:
    """The points of one head [point, dims], from 0 to 1; which text each query and key is of; each query's strongest keys [rank, query]."""

    points: np.ndarray
    query_texts: np.ndarray
    key_texts: np.ndarray
    tops: np.ndarray
    weights: np.ndarray
    tokens: list[str]

    @property
    def queries(self) -> int:
        return len(self.query_texts)


def open_head(view: ViewData, layer: int, head: int) -> OpenHead:
    """One head of a space view: its points, lines and tokens as the picture shows them."""
    space = view.spec["spaces"][0]
    stack = space["stacks"][view.state.get("stack", 0)]
    record, values = stack["layers"][layer], space["of"] == "values"
    lengths = [[len(view.spec["texts"][text]["tokens"]) for text in stack[side]] for side in ("query_texts", "key_texts")]
    query_texts, key_texts = (np.repeat(np.arange(len(each)), each) for each in lengths)
    starts = np.concatenate([[0], np.cumsum(lengths[1])])
    position = view.arrays[record["tops"]].decode()[head].astype(int)  # [rank, query], counted from 1 in the text
    tops = np.where(position > 0, starts[query_texts][None] + position - 1, -1)
    sides = ("key_texts",) if values else ("query_texts", "key_texts")
    tokens = [token for side in sides for text in stack[side] for token in view.spec["texts"][text]["tokens"]]
    points = view.arrays[record["points"]].decode()[head] / 65535
    weights = view.arrays[record["top_weights"]].decode()[head]
    return OpenHead(points, query_texts[:0] if values else query_texts, key_texts, tops, weights, tokens)


def links_of(opened: OpenHead, state: Mapping[str, Any]) -> list[SpaceLink]:
    """The lines that the state asks for, strongest first; of values there are none."""
    kind, text, count = state.get("links", "chosen"), state.get("text"), opened.queries
    if kind == "none" or not count:
        return []
    ranks = range(1) if kind == "best" else range(len(opened.tops))
    links = [
        SpaceLink(query, count + int(opened.tops[rank, query]), float(opened.weights[rank, query]))
        for rank in ranks
        for query in range(count)
        if opened.tops[rank, query] >= 0 and text in (None, int(opened.query_texts[query]))
    ]
    links.sort(key=lambda link: -link.weight)
    if kind == "best":
        return links
    if kind == "top":
        return [link for link in links if link.weight > 0][: int(state.get("links_top", 20))]
    return [link for link in links if state.get("point") in (link.start, link.end) and link.weight >= FAINT]


def red_links(view: ViewData, opened: OpenHead) -> list[SpaceLink]:
    """Every query of the first word of a pair with every key of the second in the same text, where that key is the query's most attended
    one, or everywhere if the state says so; each with its weight."""
    stack = view.spec["spaces"][0]["stacks"][view.state.get("stack", 0)]
    links = []
    for written in SEPARATOR.split(view.state.get("pairs", "")):
        for index, numbers in enumerate(zip(stack["query_texts"], stack["key_texts"], strict=True)):
            texts = [text_of({key: value for key, value in view.spec["texts"][at].items() if key != "tags"}) for at in numbers]
            if not opened.queries or view.state.get("text") not in (None, index):
                continue
            try:
                positions = [each for pair in named_pairs(written) for each in pair.positions(texts[0], texts[1])]
            except EyelineError:  # half written, or not in this text
                continue
            starts = [int(np.flatnonzero(own == index)[0]) for own in (opened.query_texts, opened.key_texts)]
            for query, key in ((starts[0] + query, starts[1] + key) for query, key in positions):
                if view.state.get("every_pair") or opened.tops[0, query] == key:
                    weight = opened.weights[opened.tops[:, query] == key, query].sum()
                    links.append(SpaceLink(query, opened.queries + key, float(weight)))
    return links


def placed(opened: OpenHead, state: Mapping[str, Any], size: float) -> np.ndarray:
    """[point, (right, down)] in pixels of a square: the zoom's window fills it; three dimensions are turned first (camera.ts)."""
    points = opened.points
    if points.shape[1] == 3:
        turn = {"yaw": 0.6, "pitch": 0.35, **state.get("turn", {})}
        sine, cosine, down, up = math.sin(turn["yaw"]), math.cos(turn["yaw"]), math.sin(turn["pitch"]), math.cos(turn["pitch"])
        rows = 1.1 / math.sqrt(3) * np.array([[cosine, 0, sine], [-sine * down, -up, cosine * down]])
        flat = 0.5 + (points - 0.5) @ rows.T
    else:
        flat = points * [1, -1] + [0, 1]
    zoom = {"x": 0.0, "y": 0.0, "k": 1.0, **state.get("zoom", {})}
    return np.asarray((flat - [zoom["x"], zoom["y"]]) * zoom["k"] * size)


def drawn_points(view: ViewData, layer: int, head: int, corner: tuple[int, int], size: int) -> str:
    """The square with everything in it: lines beneath, queries as dots and keys as diamonds, red pairs and their tokens on top."""
    state, opened = view.state, open_head(view, layer, head)
    at = placed(opened, state, size)
    inside = np.asarray(np.all((at >= 0) & (at <= size), axis=1))
    at = at + corner
    links, red = links_of(opened, state), red_links(view, opened)
    parts = [
        link_line(at, link, PAGE.link, 0.5 + 1.5 * link.weight, max(0.08, 0.7 * link.weight)) for link in links if both_inside(inside, link)
    ]
    texts = np.concatenate([opened.query_texts, opened.key_texts])
    own = np.ones(len(at), bool) if state.get("text") is None else texts == state["text"]
    for chosen, opacity in ((inside & ~own, 0.15), (inside & own, 0.8)):
        for colour, shape, part in ((PAGE.query, DOT, slice(0, opened.queries)), (PAGE.key, DIAMOND, slice(opened.queries, None))):
            marks = "".join(f"M{x:.1f} {y:.1f}{shape}" for x, y in at[part][chosen[part]])
            parts.append(f'<path d="{marks}" fill="{colour}" opacity="{opacity}"/>' if marks else "")
    parts += [link_line(at, link, PAGE.pair, 0.4 + 2.4 * link.weight, 1) for link in red if both_inside(inside, link)]
    named = dict.fromkeys(point for link in (*red, *links) for point in (link.start, link.end))
    few = [point for point in named or range(len(at)) if inside[point] and own[point]][:MOST_LABELS]
    if named or len(at) <= MOST_LABELS:
        parts += token_labels([opened.tokens[point] for point in few], at[few])
    return "".join(parts)


def link_line(at: np.ndarray, link: SpaceLink, colour: str, thick: float, opacity: float) -> str:
    """A straight line between two points, as SVG."""
    (x1, y1), (x2, y2) = at[link.start], at[link.end]
    return (
        f'<path d="M{x1:.1f} {y1:.1f}L{x2:.1f} {y2:.1f}" fill="none" stroke="{colour}" stroke-width="{thick:.2f}" opacity="{opacity:.2f}"/>'
    )


def token_labels(tokens: Sequence[str], at: np.ndarray) -> list[str]:
    """The tokens beside their points, without those that would lie on one before them."""
    parts: list[str] = []
    boxes: list[tuple[float, float, float]] = []  # left, right, foot
    for token, (x, y) in zip(tokens, at, strict=True):
        left, right, foot = x + 5, x + 5 + width(token) * 10 / SIZE, y - 4
        if any(left < other[1] and other[0] < right and abs(foot - other[2]) < 11 for other in boxes):
            continue
        boxes.append((left, right, foot))
        parts.append(f'<text x="{left:.0f}" y="{foot:.0f}" font-size="10">{escape(printable(token))}</text>')
    return parts


def both_inside(inside: np.ndarray, link: SpaceLink) -> bool:
    """Whether both ends of a line are inside the picture."""
    return bool(inside[link.start] and inside[link.end])
