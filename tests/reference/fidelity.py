"""Fidelity as the words say it: a loop over queries, a loop over their keys."""

from __future__ import annotations

import numpy as np


def share_of_nearest(queries: np.ndarray, keys: np.ndarray, weights: np.ndarray, n: int, visible: np.ndarray | None = None) -> float:
    """How often the most attended key of a query is one of its n nearest: queries [query, dims], keys [key, dims], weights [query, key].

    Queries that attend to all keys they see alike are not asked."""
    total = result = 0
    for i, query in enumerate(queries):
        seen = [j for j in range(len(keys)) if visible is None or visible[i, j]]
        if len({float(weights[i, j]) for j in seen}) < 2:
            continue
        total += 1
        most = max(seen, key=lambda j: weights[i, j])
        order = sorted(seen, key=lambda j: float(np.sum((query - keys[j]) ** 2)))
        result += most in order[:n]
    return result / total if total else float("nan")


def mean_rank_correlation(queries: np.ndarray, keys: np.ndarray, weights: np.ndarray, visible: np.ndarray | None = None) -> float:
    """Spearman's correlation of −distance and attention, averaged over queries that see two keys or more."""
    results = []
    for i, query in enumerate(queries):
        seen = [j for j in range(len(keys)) if visible is None or visible[i, j]]
        if len(seen) < 2:
            continue
        by_distance = sorted(seen, key=lambda j: float(np.sum((query - keys[j]) ** 2)))
        by_weight = sorted(seen, key=lambda j: -weights[i, j])
        ranks = [[order.index(j) for j in seen] for order in (by_distance, by_weight)]
        results.append(float(np.asarray(np.corrcoef(ranks))[0, 1]))
    return float(np.mean(results))
