"""How alike the attention of two heads is, in torch: Jensen–Shannon divergences of every pair of heads, in blocks that stay in cache."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import cache

import torch

#: Numbers of one block: [head, key chunk], few enough for a core's cache: the fastest of 2^14 to 2^20.
BLOCK = 1 << 19
#: Heads of one tile on a GPU: the fastest of 12 to 48 on an H200.
TILE = 36
#: Cells of one chunk on a GPU: enough to fill it, few enough to sum in single precision.
GPU_CELLS = 1 << 18


def js_between_heads(weights: torch.Tensor, smoothing: float = 0.001) -> torch.Tensor:
    """The sum over rows of the Jensen–Shannon divergence between the attention of every two heads, in nats.

        p' = (1 − smoothing) · p + smoothing / n
        JS(p, g) = H((p + g) / 2) − ½ H(p) − ½ H(g) = log 2 + ½ [Σ p·log p + Σ g·log g − Σ (p + g)·log(p + g)]

    weights: [head, row, key], rows summing to 1, n keys → [head, head], float64, symmetric, zero on the diagonal. With a smoothing above 0
    no logarithm meets a zero. Only one triangle is computed. Source: Clark et al. 2019, section 6 (smoothing 0.001).

    >>> same = torch.full((2, 1, 4), 0.25)
    >>> bool(js_between_heads(same).abs().max() < 1e-6)
    True
    """
    n_heads, _, n_keys = weights.shape
    return js_of_smoothed(weights.reshape(n_heads, -1) * (1 - smoothing) + smoothing / n_keys)


def js_of_smoothed(smooth: torch.Tensor) -> torch.Tensor:
    """The same of rows that are smoothed already, [head, cell]: rows of any number of texts side by side.

    A cell in which all heads have the same number adds nothing."""
    n_heads, device = len(smooth), smooth.device
    smooth = smooth.clamp_min(torch.finfo(smooth.dtype).tiny)  # without smoothing there are zeros: 0 · log 0 = 0
    # the row sums need not be 1 to the last digit: they are taken as they are
    own = torch.zeros(n_heads, dtype=torch.float64, device=device)  # Σ p · log p
    sums = torch.zeros(n_heads, dtype=torch.float64, device=device)  # Σ p
    both = torch.zeros(n_heads, n_heads, dtype=torch.float64, device=device)  # Σ (p + g) · log(p + g), upper triangle
    add_pairs = _add_pairs_fused if smooth.is_cuda else _add_pairs
    width = GPU_CELLS if smooth.is_cuda else max(256, BLOCK // n_heads)
    for start in range(0, smooth.shape[1], width):
        part = smooth[:, start : start + width].contiguous()  # [head, chunk]
        own += (part.log() * part).sum(-1)
        sums += part.sum(-1)
        add_pairs(part, both)
    log_2 = math.log(2)
    total = 0.5 * (own[:, None] + own[None] - both) + 0.5 * log_2 * (sums[:, None] + sums[None])
    upper = total.triu(1).clamp_min(0)
    return upper + upper.T


def _add_pairs(part: torch.Tensor, both: torch.Tensor) -> None:
    """Add Σ (p + g) · log(p + g) of one chunk [head, chunk] to the upper triangle of `both`."""
    space, logs = torch.empty_like(part), torch.empty_like(part)
    sums = part.new_zeros(both.shape)  # sums of this chunk, in its own precision
    for head in range(len(part) - 1):
        mixed = torch.add(part[head + 1 :], part[head], out=space[head + 1 :])  # [later head, chunk]
        terms = torch.log(mixed, out=logs[head + 1 :]).mul_(mixed)  # [later head, chunk]
        torch.sum(terms, -1, out=sums[head, head + 1 :])
    both += sums


def _add_pairs_fused(part: torch.Tensor, both: torch.Tensor) -> None:
    """The same on a GPU: tiles of pairs in one fused kernel each, so that neither sums nor logarithms are written to memory."""
    pair_sums = _pair_sums()
    for first in range(0, len(part), TILE):
        for second in range(first, len(part), TILE):
            sums = pair_sums(part[first : first + TILE], part[second : second + TILE])  # [head, head]
            both[first : first + TILE, second : second + TILE] += sums


@cache
def _pair_sums() -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def pair_sums(some: torch.Tensor, others: torch.Tensor) -> torch.Tensor:
        mixed = some[:, None] + others[None]  # [head, head, chunk]
        return (mixed * mixed.log2()).sum(-1) * math.log(2)

    compiled: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = torch.compile(pair_sums, dynamic=True)
    return compiled
