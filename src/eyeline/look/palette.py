"""The colours of pages, heads and layers, the same in figures, still pictures and live views.

The tables are written here alone: scripts/generate.py copies them for the front end, whose code mixes and lifts colours as this file does.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class PageColours:
    """What is drawn on a light or a dark page, heads and layers aside.

    faint      the ground of what stands apart
    mark       behind tokens that were found
    query, key      points of a space
    link, pair      lines between them: by attention, and of named pairs
    negative, positive      numbers of both signs, with the ground at zero
    """

    ground: str
    text: str
    muted: str
    faint: str
    hairline: str
    accent: str
    mark: str
    query: str
    key: str
    link: str
    pair: str
    negative: str
    positive: str


LIGHT_PAGE = PageColours(
    ground="#ffffff", text="#1a1d23", muted="#5b6472", faint="#f3f5f8", hairline="#d9dde3", accent="#2563eb", mark="#fde68a",
    query="#2563eb", key="#ea580c", link="#475063", pair="#d00000", negative="#2563eb", positive="#ea580c",
)  # fmt: skip
DARK_PAGE = PageColours(
    ground="#0f1115", text="#e6e8ec", muted="#9aa3b0", faint="#191d24", hairline="#2a2f37", accent="#6b9bff", mark="#6b4e00",
    query="#6b9bff", key="#fb8a4c", link="#c3cad6", pair="#ff5f57", negative="#6b9bff", positive="#fb8a4c",
)  # fmt: skip

#: They stay apart for every kind of colour vision, neighbours the farthest, with a contrast of 3 with white; frontend/head_colours.py chose
#: them.
HEAD_COLOURS = (
    *("#9640ff", "#e90000", "#0b9bd3", "#bc164e", "#2c6fbc", "#a6906f", "#0b1664", "#e96f21"),
    *("#7a859b", "#c864ff", "#b137a6", "#de64c8", "#907a64", "#3716d3", "#7a6f00", "#f4379b"),
    *("#006f4e", "#7a64de", "#9b647a", "#4ea62c", "#a6376f", "#8500f4", "#d32c43", "#6485e9"),
    *("#b16f85", "#d300bc", "#64642c", "#c80090", "#9085bc", "#9b21a6", "#d35964", "#a64ec8"),
    *("#d37a59", "#9b5964", "#439b37", "#f44eb1", "#4e854e", "#9064f4", "#1664b1", "#850b2c"),
    *("#003785", "#8543e9", "#a62100", "#7a85ff", "#217ac8", "#c8649b", "#de6400", "#e94ede"),
)
VIRIDIS = ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
#: The parts of viridis that are used for lines, on a white and on a dark page.
VIRIDIS_ON_WHITE, VIRIDIS_ON_BLACK = (0.0, 0.59), (0.33, 1.0)
#: Attention from 0 to 1 on a heatmap, on a light and on a dark page: from the ground away.
ATTENTION = ("#ffffff", "#dbe7fd", "#a9c6fa", "#6f9df3", "#2f67e3", "#1d40a8", "#10225f")
ATTENTION_DARK = ("#0f1115", "#14264d", "#1d3f8f", "#2f66d8", "#6f9df3", "#b5cffb", "#f2f6ff")
#: Numbers of both signs, from the lowest to the highest.
SIGNED, SIGNED_DARK = ((page.negative, page.ground, page.positive) for page in (LIGHT_PAGE, DARK_PAGE))
#: What a head does → its colour: a hue for each family of roles, a shade of it for each role. The order is that of legends.
ROLE_COLOURS = {
    "neighbours": {"previous": "#0a4a45", "next": "#0f766c", "self": "#2f9e44", "both_neighbours": "#2aa198"},
    "grammar": {"subject": "#4c1d95", "object": "#7c22ce", "noun_phrase": "#a45cf0", "dependency": "#9a86c9"},
    "reference": {"antecedent": "#be123c"},
    "induction": {"induction": "#d45f0a"},
    "special": {"cls": "#877a1e", "sep": "#5b4228", "punctuation": "#a98a70"},
    "broad": {"broad": "#3b82c4"},
}
#: Parts of conversations, 3:1 and more against white: the first position and the template, which come first, in greys.
PART_COLOURS = (
    "#8a93a3", "#475569", "#9333ea", "#0e7fc0", "#c2570c", "#be123c", "#4d7c0f", "#0f766e", "#a21caf", "#1d4ed8", "#92740c", "#7c2d12",
)  # fmt: skip
#: What red, green and blue add to the relative luminance (WCAG).
LUMINANCE = (0.2126, 0.7152, 0.0722)


def head_colour(head: int, *, dark: bool = False) -> str:
    """The colour of a head in every view, picture and figure.

    Past the end of the palette it begins again, mixed with grey further each time.

    >>> head_colour(1), head_colour(49), head_colour(5), head_colour(5, dark=True)
    ('#e90000', '#cd1e1e', '#a6906f', '#a6906f')
    """
    colour = cycled(HEAD_COLOURS, head)
    return lifted(colour) if dark else colour


def cycled(colours: Sequence[str], index: int) -> str:
    """The colour of this index; past the end the list begins again, mixed with grey further each time."""
    times, at = divmod(index, len(colours))
    return mixed(colours[at], "#777777", 1 - 0.75**times)


def role_colour(role: str, *, dark: bool = False) -> str:
    """The colour of a role in every figure and on every page; a head without a role has that of hairlines.

    On a dark page all are made lighter by the same share, so that the shades of a family stay apart.

    >>> role_colour("object"), role_colour("object", dark=True), role_colour("none")
    ('#7c22ce', '#964ed8', '#d9dde3')
    """
    colour = next((shades[role] for shades in ROLE_COLOURS.values() if role in shades), None)
    if colour is None:
        return (DARK_PAGE if dark else LIGHT_PAGE).hairline
    return lifted(mixed(colour, "#ffffff", 0.2)) if dark else colour


def layer_colour(layer: int, count: int, *, dark: bool = False) -> str:
    """Viridis from the first layer to the last, as far as it can be seen on the page.

    >>> layer_colour(0, 12), layer_colour(11, 12), layer_colour(0, 12, dark=True)
    ('#440154', '#26a684', '#31678e')
    """
    return layer_shade(layer / (count - 1) if count > 1 else 0.0, dark=dark)


def layer_shade(share: float, *, dark: bool = False) -> str:
    """Viridis from 0 to 1 without its palest part on white and its darkest on black: every line has a contrast of 3 with its ground."""
    low, high = VIRIDIS_ON_BLACK if dark else VIRIDIS_ON_WHITE
    return along(VIRIDIS, low + (high - low) * share)


def part_colour(part: int, *, dark: bool = False) -> str:
    """The colour of a part of a conversation or a prompt.

    >>> part_colour(0), part_colour(12), part_colour(1, dark=True)
    ('#8a93a3', '#858c98', '#576273')
    """
    colour = cycled(PART_COLOURS, part)
    return lifted(colour) if dark else colour


def attention_colour(weight: float, *, dark: bool = False) -> str:
    """The colour of a cell of a heatmap: weight 0 is the ground, 1 the strongest.

    >>> attention_colour(0), attention_colour(0.5), attention_colour(1), attention_colour(1, dark=True)
    ('#ffffff', '#6f9df3', '#10225f', '#f2f6ff')
    """
    return along(ATTENTION_DARK if dark else ATTENTION, weight)


def along(stops: Sequence[str], share: float) -> str:
    """A colour of a ramp: share 0 is its first stop, 1 its last."""
    at = share * (len(stops) - 1)
    low = min(len(stops) - 2, int(at))
    return mixed(stops[low], stops[low + 1], at - low)


def lifted(colour: str) -> str:
    """The same hue with as much white light added as it takes for a contrast of 3 with the dark ground.

    >>> lifted("#0b9bd3"), lifted("#0b1664")
    ('#0b9bd3', '#5d5e81')
    """
    linear = _linear(colour)
    light, enough = float(linear @ LUMINANCE), 3.05 * (float(_linear(DARK_PAGE.ground) @ LUMINANCE) + 0.05) - 0.05
    if light >= enough:
        return colour
    linear = linear + (enough - light) / (1 - light) * (1 - linear)
    coded = np.where(linear <= 0.0031308, linear * 12.92, 1.055 * linear ** (1 / 2.4) - 0.055)
    return "#" + "".join(f"{int(255 * part + 0.5):02x}" for part in coded.tolist())


def mixed(first: str, second: str, share: float) -> str:
    """A colour between two others: share 0 is the first, 1 the second."""
    both = [rgb(colour) for colour in (first, second)]
    return "#" + "".join(f"{int(part + 0.5):02x}" for part in (both[0] + (both[1] - both[0]) * share).tolist())


def rgb(colour: str) -> np.ndarray:
    """Red, green and blue, from 0 to 255."""
    return np.array([int(colour[at : at + 2], 16) for at in (1, 3, 5)])


def _linear(colour: str) -> np.ndarray:
    """The light of each channel, from 0 to 1."""
    parts = rgb(colour) / 255
    return np.asarray(np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4))
