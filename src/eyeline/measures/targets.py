"""Where attention goes: special tokens, neighbours, the token itself."""

from __future__ import annotations

import numpy as np


def mass_on(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The attention that each query gives to a set of keys.

    weights: [..., query, key]; columns: [key] of booleans → [..., query].

    >>> mass_on(np.array([[0.5, 0.3, 0.2]]), np.array([True, False, True]))
    array([0.7])
    """
    return np.asarray(weights @ np.asarray(columns).astype(weights.dtype))


def mass_at_offset(weights: np.ndarray, offset: int) -> np.ndarray:
    """The attention that each query gives to the key `offset` positions after it; 0 where there is no such key.

    weights: [..., query, key], queries and keys of one text → [..., query]. Offset 1 is the next token, −1 the previous, 0 itself.

    >>> mass_at_offset(np.array([[0.9, 0.1], [0.4, 0.6]]), -1)
    array([0. , 0.4])
    """
    n = weights.shape[-1]
    mass = np.zeros(weights.shape[:-1], dtype=weights.dtype)  # [..., query]
    rows = np.arange(max(0, -offset), min(n, n - offset))
    mass[..., rows] = weights[..., rows, rows + offset]
    return mass
