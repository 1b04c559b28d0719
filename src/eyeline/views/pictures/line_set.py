"""The lines of a picture: those that the page draws (frontend/src/marks/lines.ts), as few paths."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

#: The opacity below which a line cannot be seen, and below which it has no arrowhead.
FAINTEST, FAINT_ARROW = 2.5 / 255, 0.06
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
    level = np.minimum(LEVELS - 1, (np.sqrt(lines.opacity) * LEVELS).astype(int))
    shift = [((number + 0.5) / len(colours) - 0.5) * at.spread if len(colours) > 1 else 0.0 for number in range(len(colours))]
    bend = 0.4 * (at.right - at.left)
    for group in np.unique(level * len(colours) + lines.map):
        chosen = np.flatnonzero(level * len(colours) + lines.map == group)
        number = int(group) % len(colours)
        opacity = float(lines.opacity[chosen].mean())
        ends = [at.queries[lines.query[chosen]] + shift[number], at.keys[lines.key[chosen]] + shift[number]]
        drawn = "".join(
            f"M{at.left:.1f} {y1:.1f}C{at.left + bend:.1f} {y1:.1f} {at.right - bend:.1f} {y2:.1f} {at.right:.1f} {y2:.1f}"
            if at.curved
            else f"M{at.left:.1f} {y1:.1f}L{at.right:.1f} {y2:.1f}"
            for y1, y2 in zip(*ends, strict=True)
        )
        width = 0.75 + (widest - 0.75) * opacity
        opacity = raised(opacity) if at.dark else opacity
        yield f'<path d="{drawn}" fill="none" stroke="{colours[number]}" stroke-width="{width:.2f}" opacity="{opacity:.3f}"/>'
        if arrows and opacity >= FAINT_ARROW:
            heads = "".join(f"M{at.right:.1f} {y:.1f}l-7 -3l0 6Z" for y in ends[1])
            yield f'<path d="{heads}" fill="{colours[number]}" opacity="{opacity:.3f}"/>'
