"""The colours of heads and layers: one rule for figures, still pictures and live views (frontend/src/core/colours.ts)."""

from __future__ import annotations

import numpy as np

#: As in frontend/src/core/colours.ts; frontend/head_colours.py chose those after the first twelve.
HEAD_COLOURS = (
    *("#9640ff", "#ba6412", "#07c7c6", "#117068", "#a79bff", "#6f8a5c", "#5b8eb2", "#a7ba04"),
    *("#b0042a", "#e08995", "#ea2695", "#a00095", "#9e79f3", "#6d18c2", "#b69231", "#49aace"),
    *("#e7aa79", "#616dc2", "#ce0079", "#9eb6f3", "#799e6d", "#920ce7", "#f355b6", "#245518"),
    *("#b649db", "#aa5500", "#6d6d86", "#ceaaaa", "#b63daa", "#92aa61", "#c261db", "#db5549"),
    *("#ce7992", "#79c261", "#aa61ff", "#55863d", "#559eb6", "#ce86e7", "#867992", "#aaaa31"),
    *("#aa8600", "#92556d", "#aa86ff", "#ff92e7", "#8624aa", "#aa6d79", "#49316d", "#f361ce"),
)
VIRIDIS = ("#440154", "#482878", "#3e4989", "#31688e", "#26828e", "#1f9e89", "#35b779", "#6ece58", "#b5de2b", "#fde725")
DARK_GROUND = "#0f1115"
#: Numbers of both signs: blue negative, the ground at zero, orange positive. One scale in every figure, picture and live view.
SIGNED = ("#2563eb", "#ffffff", "#ea580c")
SIGNED_DARK = ("#6b9bff", DARK_GROUND, "#fb8a4c")
#: What red, green and blue add to the relative luminance (WCAG).
LIGHT = (0.2126, 0.7152, 0.0722)


def head_colour(head: int, *, dark: bool = False) -> str:
    """The colour of a head in every view, picture and figure.

    Past the end of the palette it begins again, mixed with grey further each time.

    >>> head_colour(1), head_colour(49), head_colour(23), head_colour(23, dark=True)
    ('#ba6412', '#ac6b2e', '#245518', '#4b6847')
    """
    times, index = divmod(head, len(HEAD_COLOURS))
    colour = mixed(HEAD_COLOURS[index], "#808080", 1 - 0.75**times)
    return lifted(colour) if dark else colour


def layer_colour(layer: int, count: int, *, dark: bool = False) -> str:
    """Viridis from the first layer to the last.

    >>> layer_colour(0, 12), layer_colour(11, 12)
    ('#440154', '#fde725')
    """
    at = layer / (count - 1) * (len(VIRIDIS) - 1) if count > 1 else 0.0
    low = min(len(VIRIDIS) - 2, int(at))
    colour = mixed(VIRIDIS[low], VIRIDIS[low + 1], at - low)
    return lifted(colour) if dark else colour


def lifted(colour: str) -> str:
    """The same hue with as much white light added as it takes for a contrast of 3 with the dark ground (colours.ts: lifted).

    >>> lifted("#49aace"), lifted("#245518")
    ('#49aace', '#4b6847')
    """
    linear = _linear(colour)
    light, enough = float(linear @ LIGHT), 3.05 * (float(_linear(DARK_GROUND) @ LIGHT) + 0.05) - 0.05
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
