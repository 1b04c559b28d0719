"""How broadly attention is spread."""

from __future__ import annotations

import numpy as np


def entropy(weights: np.ndarray) -> np.ndarray:
    """Shannon entropy of each attention distribution, in nats.

        H[q] = − Σ_k a[q, k] · log a[q, k]        with 0 · log 0 = 0

    weights: [..., query, key], rows summing to 1 → [..., query]. 0: all weight on one key; log n: n equal weights. Rows that sum to 0
    (fully masked) give nan, so that means leave them out.

    >>> entropy(np.full((1, 4), 0.25)).round(4)
    array([1.3863])
    """
    weights = np.asarray(weights)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)  # [..., query, key]
    spread = -(weights * logs).sum(axis=-1)  # [..., query]
    return np.where(weights.sum(axis=-1) > 0, spread, np.nan) + 0.0
