"""Attention's output and the numbers of its rows in one pass over queries and keys: a GPU with Triton, a processor for short texts."""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import torch

from eyeline.measures.kernels.short_texts import attention_of_short_texts

#: On a processor, texts of at most this many tokens; longer ones go through the fused kernel, and their rows come in blocks.
SHORT = 512
#: Number type → the largest head dimension that the kernel supports. In float32 it takes minutes to compile for 256.
MOST_DIMS = {torch.float16: 256, torch.bfloat16: 256, torch.float32: 128}
#: Offsets of the keys whose weight is read for every row: next, previous, self.
OFFSETS = (1, -1, 0)


@dataclass(frozen=True)
class KeySets:
    """Sets of keys whose attention is requested, as the kernel reads them.

    matrix   [text, key, set] of zeros and ones, filled up with empty sets to a power of two from 16 on
    given    the parts of the matrix: [text, key, set] each
    """

    matrix: torch.Tensor
    given: tuple[torch.Tensor, ...]

    @property
    def n(self) -> int:
        """How many sets there are."""
        return sum(sets.shape[-1] for sets in self.given)

    @classmethod
    def of(cls, given: Sequence[torch.Tensor], dtype: torch.dtype) -> KeySets:
        """given: at least one; dtype: of the model's attention."""
        sets = torch.cat(tuple(given), -1)
        n = sets.shape[-1]
        width = max(16, 1 << (n - 1).bit_length() if n else 0)
        return cls(torch.nn.functional.pad(sets.to(dtype), (0, width - n)), tuple(given))


@dataclass(frozen=True)
class RowNumbers:
    """What the pass knows of every row of one layer.

    sets        the sets of keys that were requested
    shares      the attention to each set, then to the keys at each of OFFSETS: [text, head, row, set and offset]
    entropies   in nats: [text, head, row]
    log_sums    log Σ exp s: [text, head, row]
    """

    sets: KeySets
    shares: torch.Tensor
    entropies: torch.Tensor
    log_sums: torch.Tensor


@dataclass(frozen=True)
class _Shape:
    """Rows and keys of one block, and how the GPU works on it. precision: of single-precision products; tf32x3 makes three for each."""

    rows: int
    keys: int
    warps: int
    stages: int
    precision: str = "ieee"


@cache
def kernel_is_there(kind: str) -> bool:
    """Whether the kernel can run on devices of this kind ("cuda"; "cpu" where Triton's interpreter is on)."""
    runs = torch.version.hip is None if kind == "cuda" else kind == "cpu" and os.environ.get("TRITON_INTERPRET") == "1"
    return runs and importlib.util.find_spec("triton") is not None


def may_apply(kind: str, dtype: torch.dtype) -> bool:
    """Whether a model on devices of this kind and with this number type can have attention in one pass."""
    return kernel_is_there(kind) or (kind == "cpu" and dtype == torch.float32)


def applies(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, mask: torch.Tensor | None, scale: float, causal: bool) -> bool:
    """Whether one pass computes this attention: plain softmax, with no mask, a causal one, or one of booleans."""
    dims, n_heads = queries.shape[-1], queries.shape[1]
    if kernel_is_there(queries.device.type):
        is_of_size = 16 <= dims <= MOST_DIMS.get(queries.dtype, 0)
    else:
        is_of_size = queries.device.type == "cpu" and queries.dtype == torch.float32 and max(queries.shape[2], keys.shape[2]) <= SHORT
    return (
        is_of_size
        and queries.dtype == keys.dtype == values.dtype
        and dims == keys.shape[-1] == values.shape[-1]
        and 1e-4 < scale < 100
        and n_heads % keys.shape[1] == 0
        and keys.shape[1] == values.shape[1]
        and (not causal or queries.shape[2] == keys.shape[2])
        and (mask is None or (mask.dtype == torch.bool and mask.dim() == 4 and mask.shape[1] in (1, n_heads)))
        and not (torch.is_grad_enabled() and any(tensor.requires_grad for tensor in (queries, keys, values)))
    )


def attention(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float,
    causal: bool,
    sets: KeySets,
) -> tuple[torch.Tensor, RowNumbers]:
    """Softmax attention and the numbers of its rows.

    queries        [text, head, query, dim]
    keys, values   [text, key head, key, dim]: heads may share them
    mask           [1 or text, 1 or head, query, key], True where a query may look: padding, windows; None: see causal
    sets           of keys; there may be none
    → the output [text, query, head, dim], as transformers wants it, and the numbers. A row that sees no key gives zeros.
    """
    if not kernel_is_there(queries.device.type):
        columns = sets.matrix[..., : sets.n]
        output, *numbers = attention_of_short_texts(queries, keys, values, mask, scale, causal, columns, OFFSETS)
        return output, RowNumbers(sets, *numbers)
    import triton

    from eyeline.measures.kernels.attention import attention_with_numbers  # Triton is installed: `applies` has checked

    n_texts, n_heads, n_queries, dims = queries.shape
    n_keys = keys.shape[2]
    queries, keys, values = (_dense_rows(tensor) for tensor in (queries, keys, values))
    output = queries.new_empty(n_texts, n_queries, n_heads, dims)
    shares = queries.new_empty(n_texts, n_heads, n_queries, sets.n + len(OFFSETS), dtype=torch.float32)
    entropies, log_sums = (shares.new_empty(n_texts, n_heads, n_queries) for _ in range(2))
    seen = queries if mask is None else mask.expand(n_texts, n_heads, n_queries, n_keys).view(torch.uint8)
    mask_strides = (0, 0, 0, 0) if mask is None else seen.stride()
    shape = _shape(dims, queries.dtype)
    attention_with_numbers[(triton.cdiv(n_queries, shape.rows), n_heads, n_texts)](
        queries, keys, values, sets.matrix, seen, output, shares, entropies, log_sums, scale * 1.4426950408889634,
        *queries.stride()[:3], *keys.stride()[:3], *values.stride()[:3], *sets.matrix.stride()[:2], *mask_strides,
        *output.stride()[:3], n_heads, n_heads // keys.shape[1], n_queries, n_keys, sets.n,
        DIM=dims, WIDTH=triton.next_power_of_2(dims), SETS=sets.matrix.shape[-1], CAUSAL=causal, MASKED=mask is not None,
        BLOCK_Q=shape.rows, BLOCK_K=shape.keys, PRECISION=shape.precision, num_warps=shape.warps, num_stages=shape.stages,
    )  # fmt: skip
    return output, RowNumbers(sets, shares, entropies, log_sums)


def _dense_rows(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of a row side by side, as the kernel reads them."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


@cache
def _shape(dims: int, dtype: torch.dtype) -> _Shape:
    """The fastest of those tried on an H200."""
    if dtype == torch.float32:
        return _Shape(128, 32, 4, 2, "tf32x3") if dims <= 64 else _Shape(64, 32, 4, 2)
    return _Shape(128, 64, 4, 3) if dims <= 64 else _Shape(128, 64, 8, 3) if dims <= 128 else _Shape(64, 32, 4, 2)
