"""Texts of similar length together, so that little of a batch is padding."""

from __future__ import annotations

from collections.abc import Sequence


def batches(lengths: Sequence[int], max_batch: int, max_tokens: int) -> list[list[int]]:
    """Indices of the texts in batches of at most max_batch texts and max_tokens padded tokens (texts × longest).

    Longest first, so that a run that does not fit in memory fails at once and not after an hour. Each index comes exactly once: put
    results back with `out[index] = …`. A single text longer than max_tokens is a batch of its own. Equal lengths keep their order.

    >>> batches([3, 9, 4, 8], max_batch=8, max_tokens=18)
    [[1, 3], [2, 0]]
    """
    if max_batch < 1 or max_tokens < 1:
        raise ValueError(f"max_batch={max_batch}, max_tokens={max_tokens}: both must be at least 1.")
    result: list[list[int]] = []
    longest = 0  # of the open batch: its first
    for index in sorted(range(len(lengths)), key=lambda i: -lengths[i]):
        if result and len(result[-1]) < max_batch and (len(result[-1]) + 1) * longest <= max_tokens:
            result[-1].append(index)
        else:
            result.append([index])
            longest = lengths[index]
    return result
