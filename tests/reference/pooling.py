"""Word-level attention the obvious way, from the words of the paper: the sum over keys, the mean over queries."""

from __future__ import annotations

import numpy as np


def pool_by_loops(weights: np.ndarray, query_groups: list[list[int]], key_groups: list[list[int]]) -> np.ndarray:
    heads = weights.shape[0]
    pooled = np.zeros((heads, len(query_groups), len(key_groups)))
    for head in range(heads):
        for v, queries in enumerate(query_groups):
            for w, keys in enumerate(key_groups):
                total = 0.0
                for i in queries:
                    for j in keys:
                        total += weights[head, i, j]
                pooled[head, v, w] = total / len(queries)
    return pooled
