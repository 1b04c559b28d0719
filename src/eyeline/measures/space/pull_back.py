"""Queries pulled back to the vectors that keys are made of, so that the queries of every head lie in one space with the tokens themselves.

    q·k = q·(W x + b) = (Wᵀ q)·x + q·b        q·b is the same for every key of a query: softmax does not depend on it

Rotary embedding turns the key of position j by R_j: q·(R_j W x) = (Wᵀ R_jᵀ q)·x depends on j, and one vector for each query cannot. So the
mean of R_j over the keys that a query sees is used.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


def pull_back(queries: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """u = Wᵀ q, for which u·x = q·(W x).

    queries: [..., query, dim], weight: [..., dim, hidden] → [..., query, hidden]

    >>> pull_back(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 3.0, 0.0]]))
    array([[1., 6., 1.]])
    """
    return np.asarray(queries @ weight)


@dataclass(frozen=True)
class Rotation:
    """How positions turn pairs of dimensions: dimension first[p] with second[p] by the angle of turns[position, p].

    first, second   [pair]; dimensions that are in no pair are not turned
    turns           [position, pair], complex, of length 1
    """

    first: np.ndarray
    second: np.ndarray
    turns: np.ndarray

    def turned_back(self, queries: np.ndarray, positions: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
        """Queries turned back by the mean rotation of the keys that each sees: [..., query, dim] → the same.

        positions   [key]; visible: [query, key], True where a query may look; None: everywhere
        """
        turns = self.turns[positions]  # [key, pair]
        if visible is None:
            mean = np.broadcast_to(turns.mean(0), (queries.shape[-2], turns.shape[1]))
        else:
            mean = visible @ turns / np.maximum(visible.sum(-1, keepdims=True), 1)  # [query, pair]
        pairs = (queries[..., self.first] + 1j * queries[..., self.second]) * mean.conj()
        result = queries.astype(np.float64, copy=True)
        result[..., self.first], result[..., self.second] = pairs.real, pairs.imag
        return result


def measure_rotation(plain: np.ndarray, turned: np.ndarray, positions: np.ndarray) -> Rotation:
    """The rotation that makes `turned` of `plain`, from the vectors alone: which dimensions are paired, and the angle at every position.

    plain, turned: [head, key, dim] before and after; positions: [key]. Pairs are halves (d, d + n/2) or neighbours (2d, 2d + 1), of all
    dimensions or of the first half or quarter; those that leave the smallest difference are taken.
    """
    candidates = []
    for share in (1, 2, 4):
        n = plain.shape[-1] // share
        for first, second in ((np.arange(n // 2), np.arange(n // 2) + n // 2), (np.arange(0, n - 1, 2), np.arange(1, n, 2))):
            before, after = (vectors[..., first] + 1j * vectors[..., second] for vectors in (plain, turned))
            products = (after * before.conj()).sum(0)  # [key, pair]
            total = np.zeros((int(positions.max()) + 1, n // 2), dtype=complex)
            np.add.at(total, positions, products)
            turns = np.where(np.abs(total) > 0, total, 1.0)
            turns /= np.abs(turns)
            rest = np.square(plain[..., n:] - turned[..., n:]).sum()
            candidates.append((np.square(np.abs(after - before * turns[positions])).sum() + rest, Rotation(first, second, turns)))
    return min(candidates, key=lambda candidate: float(candidate[0]))[1]


def score_agreement(
    scores: np.ndarray, others: np.ndarray, visible: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The sums for the correlation of two tables of scores, each query's scores less their mean over the keys that it sees.

    scores, others: [head, query, key] → Σ x·y, Σ x², Σ y² [head], and the largest difference [head]
    """
    seen = np.ones(scores.shape[-2:], dtype=bool) if visible is None else visible
    n = np.maximum(seen.sum(-1, keepdims=True), 1)

    def centred(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(seen, values - np.where(seen, values, 0).sum(-1, keepdims=True) / n, 0))

    x, y = centred(scores), centred(others)
    return (x * y).sum((-2, -1)), np.square(x).sum((-2, -1)), np.square(y).sum((-2, -1)), np.abs(x - y).max((-2, -1), initial=0)
