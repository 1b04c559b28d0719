"""Rows computed from queries and keys, in blocks: several short texts at once, or a part of a long one."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from eyeline.analyses.corpus.fused_rows import FUSED_FROM, fused_rows, kernel_rows
from eyeline.analyses.corpus.rows import Rows, numbers_on, precise
from eyeline.capture.layer import LayerScores
from eyeline.measures.streamed import HIDDEN, exponentials

#: Numbers in one block of rows: on a CPU few enough to stay in its cache, on a GPU enough to fill it.
BLOCK_CPU, BLOCK_GPU = 1 << 20, 1 << 27


def rows_of_scores(scores: LayerScores, block: int | None = None, *, fused: bool = True) -> Iterator[Rows]:
    """A layer's rows in blocks, computed from queries and keys: several short texts at once, or a few rows and heads of a long one.

    fused: a long text on a GPU may come through its fused kernel, as rows without weights
    """
    if scores.numbers is not None:
        yield kernel_rows(scores)
        return
    block = block or (BLOCK_GPU if scores.queries.is_cuda else BLOCK_CPU)
    batch, n_heads, width, _ = scores.queries.shape
    n_keys = scores.keys.shape[2]
    if fused and scores.queries.is_cuda and scores.mask is None and scores.bias is None and batch == 1 and width >= FUSED_FROM:
        yield fused_rows(scores)
        return
    together = block // (n_heads * width * n_keys)
    if together >= 1:
        for text in range(0, batch, together):
            yield _rows(scores, range(text, min(batch, text + together)), range(n_heads), 0, width)
        return
    for text in range(batch):
        n = scores.n_queries[text]
        n_rows = max(1, min(n, max(64, block // (n_heads * scores.n_keys[text]))))
        at_once = max(1, min(n_heads, 2 * block // (n_rows * scores.n_keys[text])))
        for first in range(0, n, n_rows):
            for head in range(0, n_heads, at_once):
                yield _rows(scores, range(text, text + 1), range(head, min(n_heads, head + at_once)), first, min(n, first + n_rows))


def _rows(scores: LayerScores, texts: range, heads: range, first: int, last: int) -> Rows:
    t, h = slice(texts.start, texts.stop), slice(heads.start, heads.stop)
    end = max(scores.n_keys[t])
    if scores.causal:
        end = min(end, last)  # no row of this block sees a later key
    queries = precise(scores.queries[t, h, first:last])  # [text, head, row, dim]
    keys = precise(_of_heads(scores.keys[t, :, :end], heads, scores.queries.shape[1]))  # [text, head, key, dim]
    logits = (queries * scores.scale) @ keys.transpose(2, 3)  # [text, head, row, key]
    if scores.bias is not None:
        of_texts = slice(None) if len(scores.bias) == 1 else t
        of_heads = slice(None) if scores.bias.shape[1] == 1 else h
        logits += scores.bias[of_texts, of_heads, first:last, :end]
    visible, adds = _hide(logits, scores, t, h, first, last, end)
    from_keys = scores.bias is None and not adds
    e, total, lse = exponentials(logits)
    return Rows(
        stack=scores.stack,
        layer=scores.layer,
        texts=texts,
        heads=heads,
        first=first,
        n_queries=scores.n_queries[t],
        n_keys=scores.n_keys[t],
        e=e,
        total=total,
        lse=lse,
        visible=visible,
        queries=queries if from_keys else None,
        keys=keys if from_keys else None,
        scale=scores.scale,
    )


def _of_heads(keys: torch.Tensor, heads: range, n_heads: int) -> torch.Tensor:
    """The keys that each of these heads uses: heads share them in grouped-query models. [text, head, key, dim]"""
    shared = n_heads // keys.shape[1]
    return keys[:, heads.start : heads.stop] if shared == 1 else keys[:, [head // shared for head in heads]]


def _hide(logits: torch.Tensor, scores: LayerScores, t: slice, h: slice, first: int, last: int, end: int) -> tuple[torch.Tensor, bool]:
    """Apply the mask in place. Returns how many keys each row sees [text, row], and whether the mask also adds to the scores (ALiBi)."""
    lengths = numbers_on(logits.device, scores.n_keys[t])[:, None]  # [text, 1]
    positions = torch.arange(first, last, device=logits.device)
    if scores.mask is None:
        keys = torch.arange(end, device=logits.device)
        if scores.causal:
            logits.masked_fill_(keys > positions[:, None], HIDDEN)
            return torch.minimum(positions + 1, lengths), False
        if min(scores.n_keys[t]) < end:
            logits.masked_fill_((keys >= lengths)[:, None, None], HIDDEN)
        return lengths.expand(-1, last - first), False
    mask = scores.mask[t, (slice(None) if scores.mask.shape[1] == 1 else h), first:last, :end]
    if mask.dtype == torch.bool:
        logits.masked_fill_(~mask, HIDDEN)
        return mask[:, 0].sum(-1), False
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    rest = mask.masked_fill(hidden, 0)
    logits += rest
    logits.masked_fill_(hidden, HIDDEN)
    return (~hidden[:, 0]).sum(-1), bool(rest.any())
