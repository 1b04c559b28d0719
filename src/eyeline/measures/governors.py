"""A head as a dependency classifier: which word it picks as the governor of each word, and how well a fixed offset would do."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

#: The offsets that the fixed baseline of the paper may choose from, and those of the wider one, for relations between distant words.
OFFSETS, WIDE_OFFSETS = (-3, -2, -1, 0, 1, 2), tuple(range(-20, 21))
#: What a head predicts for a word whose weights are all 0: no word, which counts as wrong.
NO_WORD = -2


def most_attended(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The word that each word attends to most, and the word that attends to it most; and with what weight.

        dependent → governor   argmax_j A[d, j]         governor → dependent   argmax_j A[j, d]         with A[d, d] = 0

    weights: [..., word, word], special tokens left out, not normalised again → words and weights, both [..., 2, word]. Where all is zero
    (the first word of a causal model sees nothing else) the word is NO_WORD.

    >>> most_attended(torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.1, 0.5], [0.2, 0.1, 0.7]]))[0].tolist()
    [[1, 2, 0], [1, 0, 1]]
    """
    n = weights.shape[-1]
    others = weights.masked_fill(torch.eye(n, dtype=torch.bool, device=weights.device), 0)  # [..., word, word]
    attended, attending = others.max(-1), others.max(-2)
    best = torch.stack([attended.values, attending.values], -2)  # [..., direction, word]
    words = torch.stack([attended.indices, attending.indices], -2)
    return words.masked_fill(best <= 0, NO_WORD), best


def at_offset(positions: np.ndarray, n_words: np.ndarray | int, offset: int) -> np.ndarray:
    """The governor that a fixed offset predicts for each word: the word at position + offset, -1 (the root) before the first word.

        clamp(i + offset, 0, n) with i counted from 1, and 0 the root; positions and results here count from 0, and -1 is the root

    positions, n_words: the position of each word, from 0, and the number of words in its sentence: [word] → [word]

    >>> at_offset(np.arange(4), 4, 2).tolist(), at_offset(np.arange(4), 4, -2).tolist()
    ([2, 3, 3, 3], [-1, -1, 0, 1])
    """
    predicted: np.ndarray = np.clip(positions + 1 + offset, 0, n_words) - 1
    return predicted


def best_offset(right: Sequence[int], offsets: Sequence[int] = OFFSETS) -> int:
    """The offset that is right most often; of equally good ones, the nearest to 0. right: how often each of the offsets is right."""
    return min(zip(right, offsets, strict=True), key=lambda pair: (-pair[0], abs(pair[1])))[1]
