"""How alike the attention of two heads is: Jensen–Shannon divergences of every pair of heads, in blocks that stay in cache.

On a processor NumPy computes them, one block a thread: its logarithm of single-precision numbers takes a third of the time of torch's.
On a GPU torch does.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import cache

import numpy as np
import torch

#: Numbers of one block, [head, chunk of cells], on a processor: few enough for a core's cache, many enough for few calls.
BLOCK = 1 << 20
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
    return _js(weights.reshape(n_heads, -1), 1 - smoothing, smoothing / n_keys)


def js_of_smoothed(smooth: torch.Tensor) -> torch.Tensor:
    """The same of rows that are smoothed already, [head, cell]: rows of any number of texts side by side.

    A cell in which all heads have the same number adds nothing."""
    return _js(smooth, 1, 0)


def _js(cells: torch.Tensor, scale: float, shift: float) -> torch.Tensor:
    """Of p = scale · cells + shift, [head, cell] → [head, head]."""
    terms = _terms_on_gpu(cells, scale, shift) if cells.is_cuda else _terms(cells, scale, shift)
    # the row sums need not be 1 to the last digit: they are taken as they are
    total = 0.5 * (terms.own[:, None] + terms.own[None] - terms.both) + 0.5 * math.log(2) * (terms.sums[:, None] + terms.sums[None])
    upper = total.triu(1).clamp_min(0)
    return upper + upper.T


@dataclass(frozen=True)
class _Terms:
    """What the divergences are made of, in double precision. own: Σ p · log p, [head]; sums: Σ p, [head]; both: Σ (p + g) · log(p + g),
    [head, head], upper triangle."""

    own: torch.Tensor
    sums: torch.Tensor
    both: torch.Tensor

    @classmethod
    def zero(cls, n_heads: int, device: torch.device) -> _Terms:
        by_head, by_pair = (torch.zeros(shape, dtype=torch.float64, device=device) for shape in (n_heads, (n_heads, n_heads)))
        return cls(by_head, by_head.clone(), by_pair)


def _terms(cells: torch.Tensor, scale: float, shift: float) -> _Terms:
    """Of p = scale · cells + shift, [head, cell], on a processor."""
    array = cells.detach().to("cpu", torch.promote_types(cells.dtype, torch.float32)).numpy()  # NumPy knows no bfloat16
    n_heads, n_cells = array.shape
    # As many blocks for any number of threads, so that the sums are rounded alike; an even number, so that two threads end together.
    blocks = min(2 * math.ceil(n_heads * n_cells / (2 * BLOCK)), math.ceil(n_cells / 256))
    parts = np.array_split(array, max(1, blocks), axis=1)
    terms = _Terms.zero(n_heads, torch.device("cpu"))
    with ThreadPoolExecutor(torch.get_num_threads()) as threads:
        for block in threads.map(lambda part: _terms_of_block(part, scale, shift), parts):
            for sums, of_block in zip((terms.own, terms.sums, terms.both), block, strict=True):
                sums += torch.from_numpy(of_block)
    return terms


def _terms_of_block(part: np.ndarray, scale: float, shift: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The three terms of one block [head, cell], in its own precision."""
    block = np.multiply(part, scale, order="C")
    np.maximum(np.add(block, shift, out=block), np.finfo(block.dtype).tiny, out=block)  # without smoothing there are zeros: 0 · log 0 = 0
    logs, mixed = np.log(block), np.empty_like(block)
    own, both = np.vecdot(block, logs), np.zeros((len(block), len(block)), block.dtype)
    for head in range(len(block) - 1):
        pairs = np.add(block[head + 1 :], block[head], out=mixed[head + 1 :])  # [later head, cell]
        np.vecdot(pairs, np.log(pairs, out=logs[head + 1 :]), out=both[head, head + 1 :])
    return own, block.sum(-1), both


def _terms_on_gpu(cells: torch.Tensor, scale: float, shift: float) -> _Terms:
    """The same on a GPU: tiles of pairs in one fused kernel each, so that neither sums nor logarithms are written to memory."""
    terms, pair_sums = _Terms.zero(len(cells), cells.device), _pair_sums()
    for start in range(0, cells.shape[1], GPU_CELLS):
        part = cells[:, start : start + GPU_CELLS].mul(scale).add_(shift).clamp_min_(torch.finfo(cells.dtype).tiny)  # [head, chunk]
        terms.own.add_((part.log() * part).sum(-1))
        terms.sums.add_(part.sum(-1))
        for first in range(0, len(part), TILE):
            for second in range(first, len(part), TILE):
                sums = pair_sums(part[first : first + TILE], part[second : second + TILE])  # [head, head]
                terms.both[first : first + TILE, second : second + TILE] += sums
    return terms


@cache
def _pair_sums() -> Callable[[torch.Tensor, torch.Tensor], torch.Tensor]:
    def pair_sums(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
        mixed = first[:, None] + second[None]  # [head, head, chunk]
        return (mixed * mixed.log2()).sum(-1) * math.log(2)

    compiled: Callable[[torch.Tensor, torch.Tensor], torch.Tensor] = torch.compile(pair_sums, dynamic=True)
    return compiled
