"""Attention's output and the numbers of its rows on a processor, for texts whose maps fit into its cache.

The maps of a block of texts are computed once, in memory that every block uses again. One product gives output and masses, and the
entropy comes from the scores that are there already:

    [output, mass] = a @ [V, C]        a = softmax(s), C: [key, set]
    H = −log max_j a[j] − Σ_j a[j] · (s[j] − max s)
"""

from __future__ import annotations

import torch

from eyeline.measures.streamed import HIDDEN

#: Numbers in the map of one block: few enough to stay in the cache of a processor.
BLOCK = 1 << 20


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
    """As `one_pass.attention`, which says what goes in.

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
    at_once = max(1, min(n_texts, BLOCK // (n_heads * n_queries * n_keys)))
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
