"""A space as one small SVG drawn in Python: all heads, or the one that was opened, as pixels with names and fidelity around them."""

from __future__ import annotations

import base64
from typing import Any

import numpy as np

from eyeline.heads import HeadRef
from eyeline.views.data import ViewData
from eyeline.views.pictures.open_space import drawn_points
from eyeline.views.pictures.png import png_bytes
from eyeline.words import Words
from eyeline.words.percent import percent

#: Colours of queries and of keys, as in frontend/src/core/theme.ts; values have the colour of keys.
QUERY, KEY = (37, 99, 235), (234, 88, 12)
SMALL, LARGE = 76, 440
#: More heads than this are not drawn one by one.
MOST_ROWS, MOST_COLUMNS = 32, 32


def plots(view: ViewData, words: Words) -> tuple[str, float, float, str]:
    """Title, width, height and body of the picture: what the state shows."""
    state, space = view.state, view.spec["spaces"][0]
    stack = space["stacks"][state.get("stack", 0)]
    points = sum(len(view.spec["texts"][text]["tokens"]) for text in stack["key_texts"])
    queries = 0 if space["of"] == "values" else sum(len(view.spec["texts"][text]["tokens"]) for text in stack["query_texts"])
    title = f"{space['model']} · {words.name('space', space['of'].replace('-', ' and '))} · {space['project']}, {space['dims']}-D"
    if state.get("opened"):
        layer, head = state.get("layer", 0), (state.get("heads") or [0])[0]
        body = cell(stack, layer, head, drawn_points(view, layer, head, (16, 52), LARGE), (16, 52, LARGE))
        return f"{title} · {name(stack, layer, head)} · {words.count('tokens', points)}", LARGE + 32, LARGE + 76, body
    rows, columns = stack["layers"][:MOST_ROWS], stack["heads"][:MOST_COLUMNS]
    step, dark = SMALL + 12, state.get("theme") == "dark"
    parts = [
        small(stack, layer, head, points_of_head, queries, (16 + head * step, 52 + layer * (step + 12), SMALL), dark=dark)
        for layer in range(len(rows))
        for head, points_of_head in enumerate(decoded(view, stack, layer)[: len(columns)])
    ]
    return f"{title} · {words.count('tokens', points)}", 20 + len(columns) * step, 52 + len(rows) * (step + 12), "".join(parts)


def name(stack: dict[str, Any], layer: int, head: int) -> str:
    """The label of a head: L3·H7."""
    return str(HeadRef("", stack["layers"][layer]["layer"], stack["heads"][head]))


def decoded(view: ViewData, stack: dict[str, Any], layer: int) -> np.ndarray:
    """[head, point, 2]: the positions of a layer's points, from 0 to 1; a cube is seen from the front."""
    return view.arrays[stack["layers"][layer]["points"]].decode()[..., :2] / 65535


def small(stack: dict[str, Any], layer: int, head: int, points: np.ndarray, queries: int, box: tuple[int, int, int], *, dark: bool) -> str:
    """One head of many: its points [point, 2] as pixels, queries first."""
    x, y, size = box
    data = base64.b64encode(png_bytes(shaded(points, queries, size, dark=dark))).decode()
    image = f'<image x="{x}" y="{y}" width="{size}" height="{size}" href="data:image/png;base64,{data}"/>'
    return cell(stack, layer, head, image, box)


def cell(stack: dict[str, Any], layer: int, head: int, body: str, box: tuple[int, int, int]) -> str:
    """The name of a head and how often the nearest key is the most attended one, above its drawing in a frame."""
    x, y, size = box
    facts = stack["layers"][layer]["facts"][head]
    fidelity = next((facts[column] for column in ("top1_held_out", "top1_projected") if facts.get(column) is not None), None)
    written = "" if fidelity is None else f'<text x="{x + size}" y="{y - 5}" text-anchor="end" opacity="0.7">{percent(fidelity)}</text>'
    return (
        f'<g font-size="{10 if size == SMALL else 12}"><text x="{x}" y="{y - 5}">{name(stack, layer, head)}</text>{written}</g>{body}'
        f'<rect x="{x}" y="{y}" width="{size}" height="{size}" fill="none" stroke="#d9dde3"/>'
    )


def shaded(points: np.ndarray, keys_from: int, size: int, *, dark: bool = False) -> np.ndarray:
    """[row, column, 3]: the ground where nothing is; elsewhere the mean colour of the points there, the stronger the more there are.

    points: [point, 2], from 0 to 1; from `keys_from` on they are keys.
    """
    at = np.clip((points * [1, -1] + [0, 1]) * size, 0, size - 1).astype(int)  # [point, (column, row)]
    cells = at[:, 1] * size + at[:, 0]
    queries = np.bincount(cells[:keys_from], minlength=size * size)
    keys = np.bincount(cells[keys_from:], minlength=size * size)
    both = np.maximum(queries + keys, 1)[:, None]
    colour = (queries[:, None] * np.array(QUERY) + keys[:, None] * np.array(KEY)) / both
    cover = (1 - np.exp(-0.8 * (queries + keys)))[:, None]
    return np.asarray(
        np.rint(np.array((15, 17, 21) if dark else (255, 255, 255)) * (1 - cover) + colour * cover).astype(np.uint8).reshape(size, size, 3)
    )
