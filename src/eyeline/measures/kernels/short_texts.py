"""Attention's output and the numbers of its rows on a processor, for texts whose maps fit into its cache.

The exponentials of some heads of some texts are computed once. One product gives the output, the masses and the mean keys:

    [output, mass, k̄] = e @ [V, C, K] / Z        e = exp(s − max), Z = Σ e, C: [key, set]

and the entropy follows from the mean keys k̄ (`measures.streamed`).
"""

from __future__ import annotations

import torch

from eyeline.measures.streamed import HIDDEN, entropy_from_keys, exponentials

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
    together = torch.cat([values, columns[:, None].expand(-1, n_heads, -1, -1), keys], -1)  # [text, head, key, dim + set + dim]
    output = queries.new_empty(n_texts, n_queries, n_heads, dims)
    shares = queries.new_empty(n_texts, n_heads, n_queries, n_sets + len(offsets))
    entropies, log_sums = (queries.new_empty(n_texts, n_heads, n_queries) for _ in range(2))
    ahead = torch.ones(n_queries, n_keys, dtype=torch.bool).triu_(1) if causal else None
    heads_at_once = max(1, min(n_heads, BLOCK // (n_queries * n_keys)))
    texts_at_once = max(1, BLOCK // (n_heads * n_queries * n_keys))
    for text in range(0, n_texts, texts_at_once):
        for head in range(0, n_heads, heads_at_once):
            block = slice(text, text + texts_at_once), slice(head, head + heads_at_once)
            scores = (queries[block] * scale) @ keys[block].transpose(2, 3)  # [text, head, query, key]
            if ahead is not None:
                scores.masked_fill_(ahead, HIDDEN)
            if mask is not None:
                seen = mask[slice(None) if len(mask) == 1 else block[0], slice(None) if mask.shape[1] == 1 else block[1]]
                scores.masked_fill_(~seen, HIDDEN)
            e, total, log_sums[block] = exponentials(scores)
            inverse = torch.where(total > 0, total, torch.inf).reciprocal_()  # 0 for rows that see no key
            sums = (e @ together[block]).mul_(inverse)  # [text, head, query, dim + set + dim]
            output[block[0], :, block[1]] = sums[..., :dims].transpose(1, 2)
            shares[block][..., :n_sets] = sums[..., dims : dims + n_sets]
            entropies[block] = entropy_from_keys(queries[block], sums[..., dims + n_sets :], scale, log_sums[block])
            for index, offset in enumerate(offsets):
                shares[block][..., n_sets + index] = _at_offset(e, offset).mul_(inverse.squeeze(-1))
    return output, shares, entropies.where(log_sums > HIDDEN / 4, 0), log_sums


def _at_offset(e: torch.Tensor, offset: int) -> torch.Tensor:
    """The exponential of the key at this offset from each row, 0 where there is none: [text, head, query]."""
    band = e.diagonal(offset, 2, 3)  # [text, head, row]
    first = max(0, -offset)
    return torch.nn.functional.pad(band, (first, e.shape[2] - first - band.shape[-1]))
