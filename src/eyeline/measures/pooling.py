"""Word-level attention from the attention between word pieces."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

Groups = Sequence[Sequence[int]]


def pool_to_words(weights: np.ndarray, query_groups: Groups, key_groups: Groups) -> np.ndarray:
    """Attention between words: the sum over a word's pieces as keys, the mean over its pieces as queries.

        A'[v, w] = 1/|v| · Σ_{i ∈ v} Σ_{j ∈ w} A[i, j]

    weights: [..., query, key]; groups: the token positions of each word, every token in one group → [..., query word, key word].
    Rows that summed to 1 still do. Source: Clark et al. 2019, section 4.1.

    >>> pool_to_words(np.array([[0.5, 0.3, 0.2], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6]]), [[0], [1, 2]], [[0], [1, 2]])
    array([[0.5 , 0.5 ],
           [0.15, 0.85]])
    """
    as_keys = membership(key_groups, weights.shape[-1], weights.dtype)  # [key, key word]
    as_queries = membership(query_groups, weights.shape[-2], weights.dtype)  # [query, query word]
    as_queries = as_queries / as_queries.sum(axis=0, keepdims=True)
    return np.asarray(as_queries.T @ (weights @ as_keys))  # [..., query word, key word]


def membership(groups: Groups, n: int, dtype: np.dtype) -> np.ndarray:
    """A one in row i and column g where token i is in group g: [token, group]."""
    matrix = np.zeros((n, len(groups)), dtype=dtype)
    for group, positions in enumerate(groups):
        matrix[list(positions), group] = 1
    return matrix
