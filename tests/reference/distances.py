"""Head distances as the formula says them: a plain NumPy loop over pairs of heads, in NumPy's own float64."""

from __future__ import annotations

import numpy as np


def js_between_heads(weights: np.ndarray, smoothing: float = 0.001) -> np.ndarray:
    """[head, row, key] → [head, head]: Σ over rows of JS, natural logarithm."""
    n_heads, _, n_keys = weights.shape
    smooth = (1 - smoothing) * weights.astype(np.float64) + smoothing / n_keys
    result = np.zeros((n_heads, n_heads))
    for h in range(n_heads):
        for g in range(n_heads):
            middle = (smooth[h] + smooth[g]) / 2
            to_middle = (smooth[h] * np.log(smooth[h] / middle)).sum(-1), (smooth[g] * np.log(smooth[g] / middle)).sum(-1)  # [row] each
            result[h, g] = (0.5 * to_middle[0] + 0.5 * to_middle[1]).sum()
    return result
