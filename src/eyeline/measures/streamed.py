"""Attention's numbers from queries and keys, in torch, a block of rows at a time or through a fused kernel: the map is never formed whole.

For plain softmax attention, with scores s[i, j] = scale · q[i]·k[j] and lse[i] = log Σ_j exp s[i, j]:

    entropy[i]       = lse[i] − Σ_j a[i, j] · s[i, j] = lse[i] − scale · q[i] · Attn(Q, K, V = K)[i]
    mass on a set[i] = Attn(Q, K, V = indicator of the set)[i]
    at an offset[i]  = exp(scale · q[i]·k[i + offset] − lse[i])
"""

from __future__ import annotations

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
