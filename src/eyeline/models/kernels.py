"""Attention's numbers from queries and keys, in torch, a block of rows at a time or through a fused kernel: the map is never formed whole.

For plain softmax attention, with scores s[i, j] = scale · q[i]·k[j] and lse[i] = log Σ_j exp s[i, j]:

    entropy[i]       = lse[i] − Σ_j a[i, j] · s[i, j] = lse[i] − scale · q[i] · Attn(Q, K, V = K)[i]
    mass on a set[i] = Attn(Q, K, V = indicator of the set)[i]
    at an offset[i]  = exp(scale · q[i]·k[i + offset] − lse[i])
"""

from __future__ import annotations

import importlib.util
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch.backends.cuda import SDPAParams, can_use_cudnn_attention

#: Scores of hidden keys: finite, so that 0 · score stays 0.
HIDDEN = -1e30


def exponentials(scores: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """exp(s − max) written over the scores, its sum over keys, and the log-sum-exp of each row.

    scores: [..., query, key] → [..., query, key], [..., query, 1], [..., query]. A row whose keys are all hidden has sum 0.

    >>> e, total, lse = exponentials(torch.zeros(1, 4))
    >>> (total.item(), round(lse.item(), 4))
    (4.0, 1.3863)
    """
    top = scores.amax(-1, keepdim=True).clamp_min_(HIDDEN / 2)  # [..., query, 1]
    e = scores.sub_(top).exp_()  # [..., query, key]
    total = e.sum(-1, keepdim=True)  # [..., query, 1]
    return e, total, (top + total.clamp_min(torch.finfo(total.dtype).tiny).log()).squeeze(-1)


def entropy_from_keys(queries: torch.Tensor, mean_keys: torch.Tensor, scale: float, lse: torch.Tensor) -> torch.Tensor:
    """H[i] = lse[i] − scale · q[i] · k̄[i], where k̄[i] = Σ_j a[i, j] · k[j]; never below 0.

    queries, mean_keys: [..., query, dim]; lse: [..., query] → [..., query], in nats.
    """
    return (lse - scale * (queries.to(lse.dtype) * mean_keys.to(lse.dtype)).sum(-1)).clamp_min(0)


def entropy_from_exponentials(e: torch.Tensor, total: torch.Tensor) -> torch.Tensor:
    """H[i] = log Z[i] − Σ_j e[i, j] · log e[i, j] / Z[i]: from the exponentials alone, where a bias is part of the scores.

    e: [..., query, key], total Z: [..., query, 1] → [..., query]. A row whose keys are all hidden gives 0.
    """
    total = total.squeeze(-1).clamp_min(torch.finfo(total.dtype).tiny)  # [..., query]
    logs = e.clamp_min(torch.finfo(e.dtype).tiny).log_()  # 0 · log 0 = 0; torch.special.entr is ten times slower
    return (total.log() - logs.mul_(e).sum(-1) / total).clamp_min(0)


def weight_at_offset(queries: torch.Tensor, keys: torch.Tensor, scale: float, lse: torch.Tensor, offset: int) -> torch.Tensor:
    """a[i, i + offset] = exp(scale · q[i]·k[i + offset] − lse[i]); 0 where there is no such key.

    queries, keys: [..., token, dim] of one text; lse: [..., token] → [..., token].
    """
    n = queries.shape[-2]
    weights = torch.zeros_like(lse)  # [..., query]
    rows = slice(max(0, -offset), min(n, n - offset))
    columns = slice(max(0, offset), min(n, n + offset))
    scores = scale * (queries[..., rows, :].to(lse.dtype) * keys[..., columns, :].to(lse.dtype)).sum(-1)  # [..., query]
    weights[..., rows] = (scores - lse[..., rows]).exp()
    return weights


def fused(queries: torch.Tensor, keys: torch.Tensor, values: torch.Tensor, scale: float, causal: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Attn(Q, K, V) and the log-sum-exp from the device's fused kernel, in memory linear in the length.

    queries, keys: [text, head, token, dim], as many key heads as heads; values: [text, head, token, width], width ≥ dim.
    → [text, head, token, width], [text, head, token]

    cuDNN's kernel comes first: on an H200 it takes two thirds of the flash kernel's time, and values may be wider than keys. For the others
    queries and keys are filled up with zeros, which change no score.
    """
    width = -(-values.shape[-1] // 8) * 8  # the kernels want multiples of 8
    v = _filled(values, width)
    if queries.is_cuda and can_use_cudnn_attention(SDPAParams(queries, keys, v, None, 0.0, causal, False)):
        out, lse, *_ = torch.ops.aten._scaled_dot_product_cudnn_attention(queries, keys, v, None, True, 0.0, causal, False, scale=scale)
        return out[..., : values.shape[-1]], lse.reshape(lse.shape[:3])
    q, k = _filled(queries, width), _filled(keys, width)
    if queries.is_cuda and queries.dtype == torch.float32:  # the flash kernels support half precision only
        out, lse, *_ = torch.ops.aten._scaled_dot_product_efficient_attention(q, k, v, None, True, 0.0, causal, scale=scale)
    elif queries.is_cuda:
        out, lse, *_ = torch.ops.aten._scaled_dot_product_flash_attention(q, k, v, 0.0, causal, False, scale=scale)
    else:
        out, lse = torch.ops.aten._scaled_dot_product_flash_attention_for_cpu(q, k, v, 0.0, causal, scale=scale)
    return out[..., : values.shape[-1]], lse[..., : queries.shape[-2]]


def _filled(tensor: torch.Tensor, width: int) -> torch.Tensor:
    return torch.nn.functional.pad(tensor, (0, width - tensor.shape[-1]))


# ---- On a processor, for texts whose maps fit into its cache


#: Numbers in the map of one block: few enough to stay in the cache of a processor.
NUMBERS_IN_BLOCK = 1 << 20


def attention_of_short_texts(
    queries: torch.Tensor,
    keys: torch.Tensor,
    values: torch.Tensor,
    mask: torch.Tensor | None,
    scale: float,
    causal: bool,
    columns: torch.Tensor,
    offsets: tuple[int, ...],
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """As `attention`, which says what goes in.

    The maps of a block of texts are computed once, in memory that every block uses again. One product gives output and masses, and the
    entropy comes from the scores that are there already:

        [output, mass] = a @ [V, C]        a = softmax(s), C: [key, set]
        H = −log max_j a[j] − Σ_j a[j] · (s[j] − max s)

    columns   the sets of keys: [text, key, set]
    → output [text, query, head, dim], shares [text, head, query, set and offset], entropies and log-sum-exps [text, head, query]
    """
    n_texts, n_heads, n_queries, dims = queries.shape
    n_keys, n_sets = keys.shape[2], columns.shape[-1]
    shared = n_heads // keys.shape[1]
    if shared > 1:
        keys, values = keys.repeat_interleave(shared, 1), values.repeat_interleave(shared, 1)
    queries, keys = queries.contiguous(), keys.contiguous()
    together = torch.cat([values, columns[:, None].expand(-1, n_heads, -1, -1)], -1)  # [text, head, key, dim + set]
    output = queries.new_empty(n_texts, n_queries, n_heads, dims)
    shares = queries.new_empty(n_texts, n_heads, n_queries, n_sets + len(offsets))
    entropies, log_sums = (queries.new_empty(n_texts, n_heads, n_queries) for _ in range(2))
    ahead = torch.ones(n_queries, n_keys, dtype=torch.bool).triu_(1) if causal else None
    at_once = max(1, min(n_texts, NUMBERS_IN_BLOCK // (n_heads * n_queries * n_keys)))
    memory = queries.new_empty(2, at_once * n_heads, n_queries, n_keys)
    for first in range(0, n_texts, at_once):
        texts = slice(first, min(n_texts, first + at_once))
        shape = (texts.stop - first, n_heads, n_queries, n_keys)
        scores, weights = memory[:, : shape[0] * n_heads]  # [text · head, query, key]
        torch.baddbmm(scores, queries[texts].flatten(0, 1), keys[texts].flatten(0, 1).transpose(1, 2), beta=0, alpha=scale, out=scores)
        by_text = scores.view(shape)
        if ahead is not None:
            by_text.masked_fill_(ahead, HIDDEN)
        if mask is not None:
            by_text.masked_fill_(~(mask if len(mask) == 1 else mask[texts]), HIDDEN)
        top = scores.amax(-1, keepdim=True)  # [text · head, query, 1]
        torch.softmax(scores.sub_(top), -1, out=weights)
        if mask is not None:
            weights.mul_(top > HIDDEN / 2)  # a row that sees no key gives zeros
        sums = (weights @ together[texts].flatten(0, 1)).view(*shape[:3], -1)  # [text, head, query, dim + set]
        output[texts] = sums[..., :dims].transpose(1, 2)
        shares[texts, ..., :n_sets] = sums[..., dims:]
        for index, offset in enumerate(offsets):
            shares[texts, ..., n_sets + index] = _at_offset(weights.view(shape), offset)
        log_sum = weights.amax(-1).clamp_min_(torch.finfo(weights.dtype).tiny).log_().neg_()  # of the scores less their largest
        log_sums[texts] = (log_sum + top.squeeze(-1)).view(shape[:3])
        entropies[texts] = (log_sum - scores.mul_(weights).sum(-1)).clamp_min_(0).mul_(top.squeeze(-1) > HIDDEN / 2).view(shape[:3])
    return output, shares, entropies, log_sums


def _at_offset(weights: torch.Tensor, offset: int) -> torch.Tensor:
    """The weight of the key at this offset from each row, 0 where there is none: [text, head, query]."""
    band = weights.diagonal(offset, 2, 3)  # [text, head, row]
    first = max(0, -offset)
    return torch.nn.functional.pad(band, (first, weights.shape[2] - first - band.shape[-1]))


# ---- Output and numbers in one pass over queries and keys: on a GPU with Triton, on a processor for short texts


#: On a processor, texts of at most this many tokens; longer ones go through the fused kernel, and their rows come in blocks.
SHORT_TEXT = 512

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
        is_of_size = queries.device.type == "cpu" and queries.dtype == torch.float32 and max(queries.shape[2], keys.shape[2]) <= SHORT_TEXT
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

    from eyeline.models.triton_kernel import attention_with_numbers  # Triton is installed: `applies` has checked

    n_texts, n_heads, n_queries, dims = queries.shape
    n_keys = keys.shape[2]
    queries, keys, values = (_dense_rows(tensor) for tensor in (queries, keys, values))
    output = queries.new_empty(n_texts, n_queries, n_heads, dims)
    shares = queries.new_empty(n_texts, n_heads, n_queries, sets.n + len(OFFSETS), dtype=torch.float32)
    entropies, log_sums = (shares.new_empty(n_texts, n_heads, n_queries) for _ in range(2))
    seen = queries if mask is None else mask.expand(n_texts, n_heads, n_queries, n_keys).view(torch.uint8)
    mask_strides = (0, 0, 0, 0) if mask is None else seen.stride()
    shape = _shape(dims, queries.dtype)
    _name_first_use(queries, sets.matrix.shape[-1], causal, mask is not None)
    attention_with_numbers[(triton.cdiv(n_queries, shape.rows), n_heads, n_texts)](
        queries, keys, values, sets.matrix, seen, output, shares, entropies, log_sums, scale * 1.4426950408889634,
        *queries.stride()[:3], *keys.stride()[:3], *values.stride()[:3], *sets.matrix.stride()[:2], *mask_strides,
        *output.stride()[:3], n_heads, n_heads // keys.shape[1], n_queries, n_keys, sets.n,
        DIM=dims, WIDTH=triton.next_power_of_2(dims), SETS=sets.matrix.shape[-1], CAUSAL=causal, MASKED=mask is not None,
        BLOCK_Q=shape.rows, BLOCK_K=shape.keys, PRECISION=shape.precision, num_warps=shape.warps, num_stages=shape.stages,
    )  # fmt: skip
    return output, RowNumbers(sets, shares, entropies, log_sums)


#: Kinds of calls whose kernel this process has. Triton compiles each when it is first called, and keeps it on disk for other processes.
_used: set[tuple[Any, ...]] = set()

_name_kernel: ContextVar[Callable[[str], None] | None] = ContextVar("eyeline_name_kernel", default=None)


@contextmanager
def naming_kernels(name: Callable[[str], None]) -> Iterator[None]:
    """Within this block `name` is told of each kernel that this process uses for the first time, before it is compiled or read."""
    token = _name_kernel.set(name)
    try:
        yield
    finally:
        _name_kernel.reset(token)


def _name_first_use(queries: torch.Tensor, n_sets: int, causal: bool, masked: bool) -> None:
    dims, dtype = queries.shape[-1], str(queries.dtype).removeprefix("torch.")
    kind = (queries.device, dims, dtype, n_sets, causal, masked)
    if kind in _used:
        return
    _used.add(kind)
    name = _name_kernel.get()
    if name is not None:
        name(f"attention, {dims} dimensions, {dtype}{', causal' if causal else ''}{', masked' if masked else ''}")


def _dense_rows(tensor: torch.Tensor) -> torch.Tensor:
    """The numbers of a row side by side, as the kernel reads them."""
    return tensor if tensor.stride(-1) == 1 else tensor.contiguous()


@cache
def _shape(dims: int, dtype: torch.dtype) -> _Shape:
    """The fastest of those tried on an H200."""
    if dtype == torch.float32:
        return _Shape(128, 32, 4, 2, "tf32x3") if dims <= 64 else _Shape(64, 32, 4, 2)
    return _Shape(128, 64, 4, 3) if dims <= 64 else _Shape(128, 64, 8, 3) if dims <= 128 else _Shape(64, 32, 4, 2)
