"""A view as one small SVG drawn in Python: what a saved notebook shows when nothing can run. Bounded at any length."""

from __future__ import annotations

import base64
import struct
import unicodedata
import zlib
from xml.sax.saxutils import escape

import numpy as np

from sightline.text.printable import printable
from sightline.views.view import View

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
ROW, SIZE, CHAR = 17, 12, 7.3
TOP = 34


def still(view: View) -> str:
    """An SVG of the stack, layer and heads that the view's state shows."""
    if view.kind == "model":
        return thumbnails(view)
    state = view.state
    stack = view.spec["stacks"][state.get("stack", 0)]
    record = stack["layers"][state.get("layer", 0)]
    weights = view.weights(state.get("stack", 0), state.get("layer", 0))  # [head, query, key]
    heads = list(state.get("heads") or range(len(weights)))
    queries, keys = (view.spec["texts"][stack[side]]["tokens"] for side in ("query_text", "key_text"))
    shown = f"L{record['layer']}·H{heads[0]}" if len(heads) == 1 else f"layer {record['layer']}, {len(heads)} heads"
    title = f"{view.spec['model']} · {stack['name']} · {shown} · {len(queries)} tokens"
    if max(len(queries), len(keys)) > MOST_TOKENS:
        return heatmap(weights[heads].mean(axis=0), title + (", mean" if len(heads) > 1 else ""))
    return lines(weights, heads, queries, keys, title)


def lines(weights: np.ndarray, heads: list[int], queries: list[str], keys: list[str], title: str) -> str:
    """Two columns of tokens, the strongest lines between them."""
    left, right = 16 + max(map(width, queries)), 176 + max(map(width, queries))
    every = weights[heads]  # [head, query, key]
    strongest = np.argsort(-every, axis=None, kind="stable")[:MOST_LINES]
    parts = []
    for place in strongest[::-1]:
        head, query, key = np.unravel_index(place, every.shape)
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


def thumbnails(view: View) -> str:
    """Every head of the stack shown, a row a layer."""
    at = view.state.get("stack", 0)
    stack = view.spec["stacks"][at]
    most = max(layer["n_heads"] for layer in stack["layers"])
    step = THUMB + 4
    parts = [f'<text x="{52 + head * step}" y="{TOP + 8}" fill="{QUIET}" font-size="10">H{head}</text>' for head in range(most)]
    for row, layer in enumerate(stack["layers"]):
        y = TOP + 14 + row * step
        parts.append(f'<text x="40" y="{y + 18}" text-anchor="end" fill="{QUIET}" font-size="10">L{layer["layer"]}</text>')
        strip = np.zeros((THUMB, layer["n_heads"] * step), dtype=np.float32)
        for head, weights in enumerate(view.weights(at, row)):
            thumb = pooled(weights, THUMB)
            stretch = -(-THUMB // max(thumb.shape))
            thumb = np.kron(thumb, np.ones((stretch, stretch), dtype=np.float32))[:THUMB, :THUMB]
            strip[: thumb.shape[0], head * step : head * step + thumb.shape[1]] = thumb
        parts.append(image(strip, 46, y, strip.shape[1], THUMB))
    tokens = len(view.spec["texts"][stack["query_text"]]["tokens"])
    title = f"{view.spec['model']} · {stack['name']} · {len(stack['layers'])} layers · {tokens} tokens"
    return svg(60 + most * step, TOP + 24 + len(stack["layers"]) * step, title, "".join(parts))


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
    rows = np.pad(steps, ((0, 0), (1, 0)))  # each row begins with its filter: none

    def chunk(name: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + name + data + struct.pack(">I", zlib.crc32(name + data))

    header = struct.pack(">IIBBBBB", steps.shape[1], steps.shape[0], 8, 3, 0, 0, 0)
    body = chunk(b"IHDR", header) + chunk(b"PLTE", ramp.tobytes()) + chunk(b"IDAT", zlib.compress(rows.tobytes(), 9)) + chunk(b"IEND", b"")
    return b"\x89PNG\r\n\x1a\n" + body


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
