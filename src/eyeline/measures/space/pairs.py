"""The correlation of dot product and distance over all pairs of a query and a key of one text, each pair weighted by its attention.

The correlation is made of sums over pairs, text after text, so that all pairs count and none need be sampled.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: A side that varies by less than this share of its size does not vary: that is what rounding leaves of a constant.
NO_VARIATION = 1e-12


@dataclass(frozen=True)
class TextPairs:
    """One text among several: which rows its queries and keys are, and how much each pair counts. weights: [..., query, key]."""

    rows: slice
    columns: slice
    weights: np.ndarray


class AllPairs:
    """Every pair of every text, in some heads.

        ρ(c) = corr_w( q·k, ‖c·q' − k'/c‖ )        ‖c·q' − k'/c‖² = c²‖q'‖² + ‖k'‖²/c² − 2 q'·k'

    queries, keys   q and k of all texts, [..., query, dim] and [..., key, dim]; the weights of each text [..., query, key]
    moved           q' and k', the same in a gauge, which may have another number of dimensions; q and k unless given
    """

    def __init__(
        self, queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs], moved: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        self.texts = texts
        self.dots = _dot_products(queries, keys, texts)
        self.moved_dots = self.dots if moved is None else _dot_products(*moved, texts)
        self.query_squares, self.key_squares = (np.square(side).sum(-1) for side in moved or (queries, keys))  # [..., query], [..., key]
        heads = queries.shape[:-2]
        self.total, mean, squares = np.zeros(heads), np.zeros(heads), np.zeros(heads)
        for text, dots in zip(texts, self.dots, strict=True):
            self.total += text.weights.sum((-2, -1), dtype=np.float64)
            mean += _sum(text.weights, dots)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.mean = mean / self.total
            for text, dots in zip(texts, self.dots, strict=True):
                squares += _sum(text.weights, np.square(dots - self.mean[..., None, None]))
            self.variance = squares / self.total

    def correlation(self, c: np.ndarray | float = 1.0) -> np.ndarray:
        """ρ(c) of each head: c [...] → [...]; −1 is best. nan where either side does not vary."""
        squared = np.broadcast_to(np.square(c), self.total.shape)[..., None]
        around = np.sqrt(np.maximum(self._mean_square(squared[..., 0]), 0))[..., None, None]  # near the mean distance: less rounding
        sums = [np.zeros(self.total.shape) for _ in range(3)]
        for text, dots, moved_dots in zip(self.texts, self.dots, self.moved_dots, strict=True):
            distances = -2 * moved_dots
            distances += (squared * self.query_squares[..., text.rows])[..., None]
            distances += (self.key_squares[..., text.columns] / squared)[..., None, :]
            np.maximum(distances, 0, out=distances)
            np.sqrt(distances, out=distances)
            distances -= around
            weighted = text.weights * distances
            sums[0] += weighted.sum((-2, -1))
            sums[1] += _sum(weighted, distances)
            sums[2] += _sum(weighted, dots - self.mean[..., None, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            shift, second, product = (total / self.total for total in sums)
            variance = second - np.square(shift)
            mean = shift + around[..., 0, 0]
            flat = (self.variance <= NO_VARIATION * (self.variance + np.square(self.mean))) | (
                variance <= NO_VARIATION * (variance + np.square(mean))
            )
            return np.asarray(np.where(flat, np.nan, product / np.sqrt(self.variance * variance)))

    def _mean_square(self, squared: np.ndarray) -> np.ndarray:
        """The mean of the squared distances: sums alone."""
        total = np.zeros(self.total.shape)
        for text, dots in zip(self.texts, self.moved_dots, strict=True):
            total -= 2 * _sum(text.weights, dots)
            total += (text.weights.sum(-1) * self.query_squares[..., text.rows]).sum(-1) * squared
            total += (text.weights.sum(-2) * self.key_squares[..., text.columns]).sum(-1) / squared
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.nan_to_num(total / self.total))


def _dot_products(queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs]) -> list[np.ndarray]:
    """Of each text, [..., query, key]."""
    return [queries[..., text.rows, :] @ np.swapaxes(keys[..., text.columns, :], -1, -2) for text in texts]


def _sum(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Σ w·x over the pairs of a text: [..., query, key] both → [...]."""
    return np.asarray(np.einsum("...qk,...qk->...", weights, values, dtype=np.float64))
