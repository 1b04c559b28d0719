"""Scores of known kinds of decoder heads: previous-token, duplicate-token and induction heads, and heads that copy."""

from __future__ import annotations

import numpy as np


def pattern_score(weights: np.ndarray, pattern: np.ndarray) -> np.ndarray:
    """The share of a head's attention that lies on a pattern: Σ A ⊙ D / Σ A.

    weights: [..., query, key]; pattern: D, [query, key] of 0 and 1 → [...]. Source: TransformerLens, detect_head (error measure "mul").

    >>> float(pattern_score(np.array([[1.0, 0.0], [0.75, 0.25]]), previous_pattern(2)))
    0.375
    """
    return np.asarray((weights * pattern).sum(axis=(-2, -1)) / weights.sum(axis=(-2, -1)))


def previous_pattern(n: int) -> np.ndarray:
    """1 where the key is the token before the query: [query, key].

    >>> previous_pattern(2).tolist()
    [[0.0, 0.0], [1.0, 0.0]]
    """
    return np.eye(n, k=-1)


def duplicate_pattern(ids: np.ndarray) -> np.ndarray:
    """1 where the key is an earlier copy of the query's token: [query, key].

    >>> duplicate_pattern(np.array([7, 8, 7])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [1.0, 0.0, 0.0]]
    """
    same = np.tril(ids[:, None] == ids[None], k=-1)
    return np.asarray(same, dtype=np.float64)


def induction_pattern(ids: np.ndarray) -> np.ndarray:
    """1 where the key follows an earlier copy of the query's token: [query, key]. Source: Olsson et al. 2022.

    >>> induction_pattern(np.array([7, 8, 7])).tolist()
    [[0.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    pattern = np.zeros((len(ids), len(ids)))
    pattern[:, 1:] = duplicate_pattern(ids)[:, :-1]
    return np.tril(pattern)


def copying_score(value: np.ndarray, output: np.ndarray, vocabulary: np.ndarray) -> float:
    """How far a head's OV circuit raises the token that it reads: Σ λ / Σ |λ| of the eigenvalues of W_E · W_V · W_O · W_U.

    1: every direction is copied, −1: every direction is taken away. The matrix of the size of the vocabulary is never formed: its non-zero
    eigenvalues are those of W_O · (W_U · W_E) · W_V, a matrix of the head's own size.

    value: W_V, [dim, hidden]; output: W_O, [hidden, dim]; vocabulary: the sum over tokens of embedding ⊗ unembedding, [hidden, hidden].
    Source: Elhage et al. 2021.

    >>> copying_score(np.eye(2), np.eye(2), np.eye(2))
    1.0
    """
    small = value @ vocabulary @ output  # [dim, dim]
    eigenvalues = np.linalg.eigvals(small)
    size = np.abs(eigenvalues).sum()
    return float(eigenvalues.sum().real / size) if size > 0 else 0.0
