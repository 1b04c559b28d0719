"""What a head writes: the values of the tokens that it looks at, weighted by its attention."""

from __future__ import annotations

import numpy as np


def head_outputs(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """The output of every head before the output projection.

        o[h, i] = Σ_j a[h, i, j] · v[g(h), j]        g(h) = h · key heads / heads: the key head that head h shares

    weights: [head, query, key]; values: [key head, key, dim] → [head, query, dim]

    >>> head_outputs(np.array([[[0.5, 0.5]]]), np.array([[[1.0, 0.0], [3.0, 2.0]]])).tolist()
    [[[2.0, 1.0]]]
    """
    outputs: np.ndarray = weights @ values.repeat(len(weights) // len(values), axis=0)
    return outputs
