"""How far two attention maps of the same text lie apart, query by query."""

from __future__ import annotations

import numpy as np


def jensen_shannon(p: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Jensen–Shannon divergence between two attention distributions, in nats: 0 is the same, log 2 nothing in common.

        JS(p, g) = ½ Σ p·log(p / m) + ½ Σ g·log(g / m)        m = (p + g) / 2,  0 · log 0 = 0

    p, g: [..., key], each summing to 1 → [...]; nan where either sums to 0 (a query that sees nothing).

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([0.    , 0.6931])
    """
    p, g = np.asarray(p, dtype=np.float64), np.asarray(g, dtype=np.float64)
    m = (p + g) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / m), 0) + np.where(g > 0, g * np.log(g / m), 0)
    divergence = np.maximum(terms.sum(-1) / 2, 0)
    return np.asarray(np.where((p.sum(-1) > 0) & (g.sum(-1) > 0), divergence, np.nan))
