"""Words on a line, and arcs between them: the geometry that figures of a sentence share. Lengths are in characters."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from eyeline.text.printable import columns


def centres_of(words: Sequence[str], gap: float, margin: float) -> tuple[np.ndarray, float]:
    """The middle of each word, and the length of the line; wide characters count twice.

    gap: between two words; margin: at both ends of the line

    >>> centres, length = centres_of(["The", "cat", "猫"], gap=1, margin=2)
    >>> centres.tolist(), length
    ([3.5, 7.5, 11.0], 14.0)
    """
    lengths = np.array([columns(word) for word in words], dtype=float)
    starts = np.concatenate([[0], np.cumsum(lengths + gap)[:-1]])
    return margin + starts + lengths / 2, float(lengths.sum() + gap * (len(words) - 1) + 2 * margin)


def arc(start: float, end: float, *, height: float, foot: float, side: int, points: int) -> tuple[list[float], list[float]]:
    """Half an ellipse over (side 1) or under (-1) the words; foot: the distance of its ends from the line.

    >>> arc(0, 4, height=1, foot=0.5, side=1, points=3)
    ([0.0, 2.0, 4.0], [0.5, 1.5, 0.5])
    """
    angles = np.linspace(np.pi, 0, points)
    x = (start + end) / 2 + np.cos(angles) * (end - start) / 2
    y = side * (foot + height * np.sin(angles))
    return x.round(3).tolist(), y.round(3).tolist()
