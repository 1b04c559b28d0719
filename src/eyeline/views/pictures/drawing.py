"""What the still pictures are drawn with: colours, text widths, pictures of weights, and the page around them."""

from __future__ import annotations

import base64
import functools
import re
from xml.sax.saxutils import escape

import numpy as np

from eyeline.plots.palette import SIGNED, SIGNED_DARK, head_colour, rgb
from eyeline.text.printable import columns, printable
from eyeline.views.pictures.png import png_bytes

#: The two sides of signed numbers.
NEGATIVE, _, POSITIVE = SIGNED
INK, QUIET, GROUND = "#1a1d23", "#5b6472", "#ffffff"
ACCENT, MARK = "#2563eb", "#fde68a"
DARK = {
    INK: "#e6e8ec",
    QUIET: "#9aa3b2",
    GROUND: "#0f1115",
    ACCENT: SIGNED_DARK[0],
    MARK: "#6b4e00",
    POSITIVE: SIGNED_DARK[2],
    "#d9dde3": "#2a2f37",
}
#: More heads than any layer has.
MOST_HEADS = 256
ROW, SIZE, CHAR, BAR = 17, 12, 7.3, 200
TOP = 34


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
    """White to dark blue (on a dark page: the background to nearly white) by the square root of the weight, as a PNG with a palette."""
    steps = np.clip(np.rint(np.sqrt(np.clip(weights, 0, 1)) * 255), 0, 255).astype(np.uint8)  # [row, column]
    low, high = ((15, 17, 21), (200, 218, 255)) if dark else ((255, 255, 255), (23, 37, 84))
    ramp = np.linspace(low, high, 256).round().astype(np.uint8)
    return png_bytes(steps, ramp)


def png_signed(parts: np.ndarray, *, dark: bool = False) -> bytes:
    """From −1 to 1: blue, the ground, orange. Small numbers rise fast (colours.ts: signedColour)."""
    parts = np.clip(parts, -1, 1)
    steps = np.clip(np.rint((np.sign(parts) * np.abs(parts) ** 0.65 + 1) / 2 * 254), 0, 254).astype(np.uint8)  # [row, column]
    below, ground, above = (rgb(colour) for colour in (SIGNED_DARK if dark else SIGNED))
    ramp = np.concatenate([np.linspace(below, ground, 128), np.linspace(ground, above, 128)[1:]])
    return png_bytes(steps, ramp.round().astype(np.uint8))


@functools.cache
def _on_dark_page() -> dict[str, str]:
    return {**{head_colour(head): head_colour(head, dark=True) for head in range(MOST_HEADS)}, **DARK}


def on_dark(drawn: str) -> str:
    """A picture in the colours of a dark page; heads keep their hue, as light as it takes to be seen."""
    colours = _on_dark_page()
    return re.sub(r'(fill|stroke)="(#[0-9a-f]{6})"', lambda match: f'{match[1]}="{colours.get(match[2], match[2])}"', drawn)


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


def svg(wide: float, high: float, title: str, body: str, caption: str = "") -> str:
    """The whole picture: its title above, and the caption, if any, below."""
    if caption:
        body += f'<text x="16" y="{round(high) + 14}" fill="{QUIET}">{escape(printable(caption))}</text>'
        high += 24
    wide, high = max(round(wide), round(32 + 0.95 * max(width(title), width(caption)))), round(high)
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{wide}" height="{high}" viewBox="0 0 {wide} {high}" '
        f'font-family="system-ui, sans-serif" font-size="{SIZE}" fill="{INK}"><title>{escape(printable(title))}</title>'
        f'<rect width="100%" height="100%" fill="{GROUND}"/><text x="16" y="20">{escape(printable(title))}</text>{body}</svg>'
    )


def width(text: str) -> float:
    """About how wide the text is, in pixels: East Asian characters and emoji take two columns."""
    return CHAR * columns(printable(text))
