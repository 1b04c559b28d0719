"""Softmax as a textbook has it, in NumPy."""

from __future__ import annotations

import numpy as np


def softmax(scores: np.ndarray) -> np.ndarray:
    """exp(s_k) / Σ_j exp(s_j) over the last axis; the maximum is subtracted first, so that nothing overflows."""
    raised = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(raised / raised.sum(-1, keepdims=True))
