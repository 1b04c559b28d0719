"""Shift and scale of a head, searched together so that distance follows the dot product as closely as possible.

    k' = (k + a) / c,  q' = c · q        the a (a vector) and c for which  ρ = corr_w( q·k, distance(q', k') )  is nearest −1

Every pair of a query and a key of one text is weighted by its attention. q·k is the model's own dot product, without the shift: the term
q·a does not change the softmax, and with a long enough a it would make ρ = −1 in every head and say nothing about attention.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyeline.measures.space.pairs import NO_VARIATION, TextPairs
from eyeline.measures.space.project import principal_axes

DISTANCES = ("euclidean", "cosine")
WHERE = ("full", "plane")
#: Steps of L-BFGS from each start; rounds in which the plane is computed again.
STEPS, ROUNDS = 60, 4
#: A shift is at most this many times as long as the longest vector, in each direction.
FARTHEST = 3.0
#: Lengths below this count as this.
TINY = 1e-9


@dataclass(frozen=True)
class Agreement:
    """What is correlated with the dot product: which distance, between the vectors themselves (full) or in their PCA plane."""

    distance: str = "euclidean"
    where: str = "full"
    dims: int = 2


@dataclass(frozen=True)
class ShiftAndScale:
    """shift: a, [dim]; scale: c; correlation: ρ, nan in a head whose dot products do not vary"""

    shift: np.ndarray
    scale: float
    correlation: float


def search_gauge(queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs], agreement: Agreement) -> ShiftAndScale:
    """The shift and scale of one head; never worse than none. queries: [query, dim], keys: [key, dim], weights of texts [query, key].

    L-BFGS from no shift and from the shift that makes the centroids meet. In the plane, axes and shift are found in turn.
    """
    pairs = _HeadPairs(queries, keys, texts)
    none = ShiftAndScale(np.zeros(keys.shape[-1]), 1.0, agreement_of(queries, keys, queries, keys, texts, agreement))
    if not np.isfinite(none.correlation):
        return none
    reached = [none]
    for begin in (np.zeros(keys.shape[-1]), queries.mean(0) - keys.mean(0)):
        shift, scale = begin, 1.0
        for _ in range(ROUNDS if agreement.where == "plane" else 1):
            axes = _plane(queries * scale, (keys + shift) / scale, agreement.dims) if agreement.where == "plane" else None
            shift, scale = pairs.search(shift, scale, axes, agreement.distance)
            gauged = queries * scale, (keys + shift) / scale
            reached.append(ShiftAndScale(shift, scale, agreement_of(queries, keys, *gauged, texts, agreement)))
    return min(reached, key=lambda each: each.correlation if np.isfinite(each.correlation) else np.inf)


def agreement_of(
    queries: np.ndarray, keys: np.ndarray, new_queries: np.ndarray, new_keys: np.ndarray, texts: Sequence[TextPairs], agreement: Agreement
) -> float:
    """ρ of the dot products of one head as the model has them and distances in a gauge: −1 is best; nan where either does not vary.

    queries, keys: [query, dim], [key, dim]; new_queries, new_keys: the same in the gauge, which may have another number of dimensions
    """
    if agreement.where == "plane":
        axes = _plane(new_queries, new_keys, agreement.dims)
        new_queries, new_keys = new_queries @ axes, new_keys @ axes
    pairs = _HeadPairs(queries, keys, texts)
    return pairs.correlation(new_queries, new_keys, agreement.distance)


def _plane(queries: np.ndarray, keys: np.ndarray, dims: int) -> np.ndarray:
    return principal_axes(np.concatenate([queries, keys]), dims)[1]


class _HeadPairs:
    """The pairs of one head with their own dot products."""

    def __init__(self, queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs]) -> None:
        self.queries, self.keys = queries, keys
        self.texts = [(text.rows, text.columns, np.asarray(text.weights, dtype=np.float64)) for text in texts]
        self.total = sum(float(weights.sum()) for *_, weights in self.texts)
        dots = [queries[rows] @ keys[columns].T for rows, columns, _ in self.texts]
        mean = self._mean(dots)
        self.dots = [each - mean for each in dots]  # from their mean
        self.variance = self._mean([each * each for each in self.dots])
        self.is_flat = not self.total or self.variance <= NO_VARIATION * (self.variance + mean * mean)

    def _mean(self, values: Sequence[np.ndarray]) -> float:
        if not self.total:
            return 0.0
        return sum(float((weights * each).sum()) for (*_, weights), each in zip(self.texts, values, strict=True)) / self.total

    def correlation(self, queries: np.ndarray, keys: np.ndarray, distance: str) -> float:
        return float("nan") if self.is_flat else self._rho(self._distances(queries, keys, distance))[0]

    def search(self, shift: np.ndarray, scale: float, axes: np.ndarray | None, distance: str) -> tuple[np.ndarray, float]:
        """The best a and c from here; with `axes`, [dim, dims], distances are those in that plane, and a moves within it."""
        from scipy.optimize import minimize  # takes a third of a second, which only a search should cost

        queries, keys = (self.queries, self.keys) if axes is None else (self.queries @ axes, self.keys @ axes)
        begin = shift if axes is None else shift @ axes
        reach = FARTHEST * max(float(np.abs(queries).max()), float(np.abs(keys).max()), TINY)
        bounds = [(-max(reach, abs(value)), max(reach, abs(value))) for value in begin] + [(-4.0, 4.0)]
        result = minimize(
            lambda parameters: self._value(parameters, queries, keys, distance),
            np.append(begin, np.log(scale)),
            jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS},
        )  # fmt: skip
        moved = result.x[:-1]
        return (moved if axes is None else shift + axes @ (moved - begin)), float(np.exp(result.x[-1]))

    def _distances(self, queries: np.ndarray, keys: np.ndarray, distance: str) -> list[np.ndarray]:
        q, k = np.square(queries).sum(-1), np.square(keys).sum(-1)
        distances = []
        for rows, columns, _ in self.texts:
            dots = queries[rows] @ keys[columns].T
            if distance == "cosine":
                distances.append(1 - dots / np.maximum(np.sqrt(q[rows])[:, None] * np.sqrt(k[columns]), TINY))
            else:
                distances.append(np.sqrt(np.maximum(q[rows][:, None] + k[columns] - 2 * dots, TINY**2)))
        return distances

    def _rho(self, distances: Sequence[np.ndarray]) -> tuple[float, float, float]:
        """ρ, and the mean and the variance of the distances."""
        mean = self._mean(distances)
        variance = self._mean([np.square(each - mean) for each in distances])
        if variance <= NO_VARIATION * (variance + mean * mean):
            return float("nan"), mean, variance
        product = self._mean([dots * (each - mean) for dots, each in zip(self.dots, distances, strict=True)])
        return product / np.sqrt(self.variance * variance), mean, variance

    def _value(self, parameters: np.ndarray, queries: np.ndarray, keys: np.ndarray, distance: str) -> tuple[float, np.ndarray]:
        """ρ at a and log c, and its gradient."""
        shift, square = parameters[:-1], float(np.exp(2 * parameters[-1]))
        moved = keys + shift
        c = np.sqrt(square)
        distances = self._distances(queries * c, moved / c, distance)
        rho, mean, variance = self._rho(distances)
        gradient = np.zeros_like(parameters)
        if not np.isfinite(rho):
            return 0.0, gradient
        q, k = np.square(queries).sum(-1), np.square(moved).sum(-1)
        for (rows, columns, weights), dots, each in zip(self.texts, self.dots, distances, strict=True):
            by_distance = weights / self.total * (dots / np.sqrt(self.variance * variance) - rho * (each - mean) / variance)
            if distance == "cosine":
                lengths = np.maximum(np.sqrt(q[rows])[:, None] * np.sqrt(k[columns]), TINY)
                by_dot = -by_distance / lengths
                by_key = by_distance * (1 - each) / np.maximum(k[columns], TINY)
            else:
                by_square = by_distance / (2 * np.maximum(each, TINY))
                by_dot, by_key = -2 * by_square, 2 * by_square / square
                gradient[-1] += float((by_square * (2 * square * q[rows][:, None] - 2 * k[columns] / square)).sum())
            gradient[:-1] += by_dot.sum(1) @ queries[rows] + by_key.sum(0) @ moved[columns]
        return rho, gradient
