"""How far attention reaches: between neighbours, or across the text."""

from __future__ import annotations

import numpy as np


def reach(weights: np.ndarray, inside: np.ndarray) -> tuple[float, float]:
    """Of the attention between the tokens `inside` (all but special ones, say): the share that stays near, and its mean distance in tokens.

        near = Σ_{|q−k| ≤ 1} a[q, k] / Σ a[q, k]        distance = Σ |q−k| · a[q, k] / Σ a[q, k]        q, k inside

    weights: [..., query, key] of one text as queries and keys; inside: [token], True for those counted. Nothing inside gives nan.

    >>> near, distance = reach(np.array([[0.5, 0.0, 0.5], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.ones(3, dtype=bool))
    >>> round(near, 3), round(distance, 3)
    (0.833, 0.333)
    """
    positions = np.flatnonzero(inside)
    among = weights[..., positions[:, None], positions[None, :]].reshape(-1, len(positions), len(positions)).sum(axis=0)  # [query, key]
    apart = np.abs(positions[:, None] - positions[None, :])  # [query, key]
    total = float(among.sum())
    if not total:
        return float("nan"), float("nan")
    return float((among * (apart <= 1)).sum()) / total, float((among * apart).sum()) / total
