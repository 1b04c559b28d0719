"""One row of attention, step by step: dot products, scaled scores, and their softmax."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class AttentionRow:
    """dots: q·k for each key; scores: the dots times the scale; weights: softmax of the scores. All [key]."""

    dots: np.ndarray
    scores: np.ndarray
    weights: np.ndarray


def attention_row(query: np.ndarray, keys: np.ndarray, scale: float) -> AttentionRow:
    """The attention of one query, [dim], to keys, [key, dim].

        weights[k] = exp(scale · q·k) / Σ_j exp(scale · q·j)

    >>> attention_row(np.array([1.0, 0.0]), np.array([[2.0, 0.0], [2.0, 5.0]]), 0.5).weights
    array([0.5, 0.5])
    """
    dots = keys @ query  # [key]
    scores = dots * scale
    raised = np.exp(scores - scores.max())
    return AttentionRow(dots, scores, raised / raised.sum())
