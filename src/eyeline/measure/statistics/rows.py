"""Rows of attention: of a map, of queries and keys, or of a kernel that forms no map. Every statistic is computed from these."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch

from eyeline.errors import TraceError
from eyeline.models.attention import AttentionCall, LayerAttention
from eyeline.models.kernels import (
    HIDDEN,
    OFFSETS,
    KeySets,
    RowNumbers,
    attention,
    entropy_from_exponentials,
    entropy_from_keys,
    exponentials,
    fused,
    weight_at_offset,
)


@dataclass(frozen=True)
class Rows:
    """Rows `first`, `first` + 1, … of some texts of a batch, for some heads of one layer.

    attention          of the layer, on the whole batch
    texts, heads       which of the batch's texts and of the layer's heads
    exponentials, total, lse   exp(s − max) [text, head, row, key], its sum [text, head, row, 1], and log Σ exp s [text, head, row]
    visible            how many keys each row may attend to: [text, row]
    queries, keys      [text, head, row, dim], [text, head, key, dim], where the entropy can be computed from them
    """

    attention: LayerAttention
    texts: range
    heads: range
    first: int
    exponentials: torch.Tensor
    total: torch.Tensor
    lse: torch.Tensor | None
    visible: torch.Tensor
    queries: torch.Tensor | None = None
    keys: torch.Tensor | None = None
    _known: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def stack(self) -> str:
        return self.attention.stack

    @property
    def layer(self) -> int:
        return self.attention.layer

    @property
    def n_queries(self) -> tuple[int, ...]:
        """The true number of queries of each of these texts."""
        return self.attention.n_queries[self.texts.start : self.texts.stop]

    @property
    def n_keys(self) -> tuple[int, ...]:
        return self.attention.n_keys[self.texts.start : self.texts.stop]

    @property
    def n_rows(self) -> int:
        return self.exponentials.shape[2]

    @cached_property
    def inverse(self) -> torch.Tensor:
        """1 / Z, 0 for rows without a visible key: [text, head, row, 1]"""
        return torch.where(self.total > 0, self.total, torch.inf).reciprocal()

    @cached_property
    def inside(self) -> torch.Tensor:
        """Which rows are the text's own, not padding: [text, row]"""
        return _inside(self.n_queries, self.first, self.n_rows, self.visible.device)

    def weights(self) -> torch.Tensor:
        """[text, head, row, key]"""
        return self.exponentials * self.inverse

    def mass(self, columns: torch.Tensor) -> torch.Tensor:
        """The attention that each row gives to sets of keys: columns [text, key, set] of zeros and ones → [text, head, row, set]."""
        sets = columns[:, None, : self.exponentials.shape[3]].to(self.exponentials.dtype).expand(-1, self.exponentials.shape[1], -1, -1)
        if self.keys is None or "mean_keys" in self._known:
            return (self.exponentials @ sets).mul_(self.inverse)
        # one pass over the exponentials for both: the entropy, which needs the mean keys, is usually computed as well
        both = (self.exponentials @ torch.cat([sets, self.keys], -1)).mul_(self.inverse)  # [text, head, row, set and dim]
        self._known["mean_keys"] = both[..., sets.shape[-1] :]
        return both[..., : sets.shape[-1]]

    def at_offset(self, offset: int) -> torch.Tensor:
        """The attention that each row gives to the key at this offset from it, 0 where there is none: [text, head, row]."""
        weights = torch.zeros(self.exponentials.shape[:3], dtype=self.exponentials.dtype, device=self.exponentials.device)
        band = self.exponentials.diagonal(self.first + offset, 2, 3)  # [text, head, row]; a negative diagonal begins further down
        begin = max(0, -(self.first + offset))
        weights[..., begin : begin + band.shape[-1]] = band
        return weights.mul_(self.inverse.squeeze(-1))

    def shares(self, columns: torch.Tensor, offsets: Sequence[int]) -> torch.Tensor:
        """The attention that each row gives to sets of keys and to the keys at some offsets: [text, head, row, set and offset]."""
        mass = self.mass(columns)
        return torch.cat([mass, torch.stack([self.at_offset(offset) for offset in offsets], -1)], -1) if offsets else mass

    def sink(self) -> torch.Tensor:
        """What the learned sink takes of each row: [text, head, row]; of padding and rows without a visible key 0."""
        rest = (1 - self.exponentials.sum(-1) * self.inverse.squeeze(-1)).clamp_min(0)
        return rest.masked_fill(~((self.visible > 0) & self.inside)[:, None], 0)

    def entropy(self) -> torch.Tensor:
        """In nats: [text, head, row]. Where a learned sink takes a part of each row, it counts as one more key."""
        if self.attention.sink:
            with_sink: torch.Tensor = entropy_from_exponentials(self.exponentials, self.total) + torch.special.entr(self.sink())
            return with_sink
        if self.queries is None or self.keys is None or self.lse is None:
            return entropy_from_exponentials(self.exponentials, self.total)
        if "mean_keys" not in self._known:
            self._known["mean_keys"] = (self.exponentials @ self.keys).mul_(self.inverse)  # [text, head, row, dim]
        return entropy_from_keys(self.queries, self._known["mean_keys"], self.attention.call.scale, self.lse)


@lru_cache(maxsize=32)
def numbers_on(device: torch.device, numbers: tuple[int, ...]) -> torch.Tensor:
    """These numbers on a device, copied once for all layers: a GPU must wait for every copy."""
    return torch.tensor(numbers, device=device)


@lru_cache(maxsize=32)
def _inside(lengths: tuple[int, ...], first: int, n_rows: int, device: torch.device) -> torch.Tensor:
    return torch.arange(first, first + n_rows, device=device) < numbers_on(device, lengths)[:, None]  # [text, row]


def precise(tensor: torch.Tensor) -> torch.Tensor:
    """At least single precision: half precision is for kernels, not for sums."""
    return tensor if tensor.dtype == torch.float64 else tensor.float()


def keys_seen(weights: torch.Tensor, mask: torch.Tensor | None, stack: str, n_keys: Sequence[int], first: int = 0) -> torch.Tensor:
    """The keys that each row of a map [text, head, row, key] may attend to: those that the mask leaves, no padding. → [text, row, key]"""
    batch, _, n_rows, width = weights.shape
    positions = torch.arange(width, device=weights.device)
    inside = positions < numbers_on(weights.device, tuple(n_keys))[:, None]  # [text, key]
    seen = inside[:, None].expand(batch, n_rows, width)  # [text, row, key]
    if mask is not None:
        return seen & (mask[:, 0] > torch.finfo(mask.dtype).min / 2)
    if stack == "decoder":
        return seen & (positions <= torch.arange(first, first + n_rows, device=weights.device)[:, None])
    return seen


def rows_of_map(attention: LayerAttention) -> Rows:
    """A dense map, or some rows of it, as rows: [batch, head, row, key], already normalised."""
    weights, call = precise(attention.weights), attention.recorded
    batch, n_heads = weights.shape[:2]
    mask, first = (None, 0) if call is None else (call.mask, call.first)
    seen = keys_seen(weights, mask, attention.stack, attention.n_keys, first)  # [text, row, key]
    return Rows(
        attention,
        texts=range(batch),
        heads=range(n_heads),
        first=first,
        exponentials=weights,
        total=torch.ones_like(weights[..., :1]),  # not renormalised: where a sink takes a share, rows sum to less than 1
        lse=None,
        visible=seen.sum(-1),
    )


# ---- Blocks of rows from queries and keys


#: Numbers in one block of rows: on a CPU few enough to stay in its cache, on a GPU enough to fill it.
BLOCK_CPU, BLOCK_GPU = 1 << 20, 1 << 27


def rows_of_scores(
    attention: LayerAttention, block: int | None = None, *, fused: bool = True, only: Mapping[int, Sequence[int]] | None = None
) -> Iterator[Rows]:
    """A layer's rows in blocks, computed from queries and keys: several short texts at once, or a few rows and heads of a long one.

    fused   a long text on a GPU may come through its fused kernel, as rows without weights
    only    text → rows: blocks that hold none of these are not computed
    """
    call = attention.call
    if call.numbers is not None:
        yield kernel_rows(attention)
        return
    block = block or (BLOCK_GPU if call.queries.is_cuda else BLOCK_CPU)
    batch, n_heads, width, _ = call.queries.shape
    n_keys = call.keys.shape[2]
    if fused and call.queries.is_cuda and call.mask is None and call.bias is None and batch == 1 and width >= FUSED_FROM:
        yield fused_rows(attention)
        return
    together = block // (n_heads * width * n_keys)
    if together >= 1:
        for text in range(0, batch, together):
            texts = range(text, min(batch, text + together))
            if only is None or not only.keys().isdisjoint(texts):
                yield _rows(attention, texts, range(n_heads), 0, width)
        return
    for text in range(batch) if only is None else only:
        n = attention.n_queries[text]
        n_rows = max(1, min(n, max(64, block // (n_heads * attention.n_keys[text]))))
        at_once = max(1, min(n_heads, 2 * block // (n_rows * attention.n_keys[text])))
        for first in range(0, n, n_rows):
            if only is not None and not any(first <= row < first + n_rows for row in only[text]):
                continue
            for head in range(0, n_heads, at_once):
                yield _rows(attention, range(text, text + 1), range(head, min(n_heads, head + at_once)), first, min(n, first + n_rows))


def _rows(attention: LayerAttention, texts: range, heads: range, first: int, last: int) -> Rows:
    call = attention.call
    t, h = slice(texts.start, texts.stop), slice(heads.start, heads.stop)
    end = max(attention.n_keys[t])
    if call.causal:
        end = min(end, last)  # no row of this block sees a later key
    queries = precise(call.queries[t, h, first:last])  # [text, head, row, dim]
    keys = precise(_of_heads(call.keys[t, :, :end], heads, call.queries.shape[1]))  # [text, head, key, dim]
    logits = (queries * call.scale) @ keys.transpose(2, 3)  # [text, head, row, key]
    if call.bias is not None:
        of_texts = slice(None) if len(call.bias) == 1 else t
        of_heads = slice(None) if call.bias.shape[1] == 1 else h
        logits += call.bias[of_texts, of_heads, first:last, :end]
    visible, adds = _hide(logits, call, attention.n_keys, t, h, first, last, end)
    from_keys = call.bias is None and not adds
    numerators, total, lse = exponentials(logits)
    return Rows(
        attention,
        texts=texts,
        heads=heads,
        first=first,
        exponentials=numerators,
        total=total,
        lse=lse,
        visible=visible,
        queries=queries if from_keys else None,
        keys=keys if from_keys else None,
    )


def _of_heads(keys: torch.Tensor, heads: range, n_heads: int) -> torch.Tensor:
    """The keys that each of these heads uses: heads share them in grouped-query models. [text, head, key, dim]"""
    shared = n_heads // keys.shape[1]
    return keys[:, heads.start : heads.stop] if shared == 1 else keys[:, [head // shared for head in heads]]


def _hide(
    logits: torch.Tensor, call: AttentionCall, n_keys: tuple[int, ...], t: slice, h: slice, first: int, last: int, end: int
) -> tuple[torch.Tensor, bool]:
    """Apply the mask in place. Returns how many keys each row sees [text, row], and whether the mask also adds to the scores (ALiBi)."""
    lengths = numbers_on(logits.device, n_keys[t])[:, None]  # [text, 1]
    positions = torch.arange(first, last, device=logits.device)
    if call.mask is None:
        keys = torch.arange(end, device=logits.device)
        if call.causal:
            logits.masked_fill_(keys > positions[:, None], HIDDEN)
            return torch.minimum(positions + 1, lengths), False
        if min(n_keys[t]) < end:
            logits.masked_fill_((keys >= lengths)[:, None, None], HIDDEN)
        return lengths.expand(-1, last - first), False
    mask = call.mask[t, (slice(None) if call.mask.shape[1] == 1 else h), first:last, :end]
    if mask.dtype == torch.bool:
        logits.masked_fill_(~mask, HIDDEN)
        return mask[:, 0].sum(-1), False
    hidden = mask <= torch.finfo(mask.dtype).min / 2
    rest = mask.masked_fill(hidden, 0)
    logits += rest
    logits.masked_fill_(hidden, HIDDEN)
    return (~hidden[:, 0]).sum(-1), bool(rest.any())


# ---- Rows without a map


#: On a GPU, texts of at least this many tokens go through its fused kernel.
FUSED_FROM = 2048


@dataclass(frozen=True)
class FusedRows(Rows):
    """All rows of one long text without padding, through the device's fused kernel; `exponentials` and `total` stay empty. The first
    call of `mass` also computes the mean keys, from which the entropy follows: one pass of the kernel for both."""

    @property
    def n_rows(self) -> int:
        return self.n_queries[0]

    def weights(self) -> torch.Tensor:
        raise TraceError(
            f"A text of {self.n_rows:,} tokens has no attention map: it would not fit into memory.", "Use shorter texts for this analysis."
        )

    def mass(self, columns: torch.Tensor) -> torch.Tensor:
        queries, keys = self._pair()
        sets = columns[:, None, : keys.shape[2]].to(keys.dtype).expand(-1, keys.shape[1], -1, -1)  # [text, head, key, set]
        together = "mean_keys" not in self._known
        values = torch.cat([keys, sets], -1) if together else torch.nn.functional.pad(sets, (0, max(0, keys.shape[-1] - sets.shape[-1])))
        out, lse = fused(queries, keys, values, self.attention.call.scale, self.attention.call.causal)
        if together:
            self._known.update(mean_keys=out[..., : keys.shape[-1]], lse=lse)
            out = out[..., keys.shape[-1] :]
        return out[..., : sets.shape[-1]].float()  # [text, head, row, set]

    def at_offset(self, offset: int) -> torch.Tensor:
        queries, keys = self._pair()
        weights = weight_at_offset(queries, keys, self.attention.call.scale, self._lse(), offset)
        return torch.zeros_like(weights) if self.attention.call.causal and offset > 0 else weights

    def entropy(self) -> torch.Tensor:
        lse = self._lse()
        return entropy_from_keys(self._pair()[0], self._known["mean_keys"], self.attention.call.scale, lse)

    def _lse(self) -> torch.Tensor:
        """log Σ exp s: [text, head, row], float32"""
        if "lse" not in self._known:
            queries, keys = self._pair()
            mean_keys, lse = fused(queries, keys, keys, self.attention.call.scale, self.attention.call.causal)
            self._known.update(mean_keys=mean_keys, lse=lse)
        return self._known["lse"]

    def _pair(self) -> tuple[torch.Tensor, torch.Tensor]:
        if self.queries is None or self.keys is None:
            raise RuntimeError("fused rows need queries and keys")
        return self.queries, self.keys


@dataclass(frozen=True)
class KernelRows(Rows):
    """All rows of a batch, whose numbers came with the layer's output (`models.kernels`); `exponentials` and `total` stay empty."""

    @property
    def n_rows(self) -> int:
        return self.numbers.shares.shape[2]

    @property
    def numbers(self) -> RowNumbers:
        numbers = self.attention.call.numbers
        if numbers is None:
            raise RuntimeError("kernel rows need a call with numbers")
        return numbers

    def weights(self) -> torch.Tensor:
        raise TraceError("These rows were computed without a map.", "Give the statistic needs_weights = True.")

    def mass(self, columns: torch.Tensor) -> torch.Tensor:
        named = self._sets(columns)
        if named is not None:
            return self.numbers.shares[..., named]
        call = self.attention.call  # no statistic named these sets before the pass, so another one is needed
        sets = KeySets.of([columns], call.keys.dtype)
        numbers = attention(call.queries, call.keys, call.keys, call.mask, call.scale, call.causal, sets)[1]
        return numbers.shares[..., : sets.n]

    def at_offset(self, offset: int) -> torch.Tensor:
        if offset in OFFSETS:
            return self.numbers.shares[..., self.numbers.sets.n + OFFSETS.index(offset)]
        call = self.attention.call
        weights = weight_at_offset(call.queries, call.keys_by_head(), call.scale, self.numbers.log_sums, offset)
        if call.mask is not None:
            band = call.mask.diagonal(offset, 2, 3)  # [text, 1 or head, row]
            weights[..., max(0, -offset) : max(0, -offset) + band.shape[-1]] *= band
        return torch.zeros_like(weights) if call.causal and offset > 0 else weights

    def shares(self, columns: torch.Tensor, offsets: Sequence[int]) -> torch.Tensor:
        sets = self._sets(columns)
        if sets == slice(0, self.numbers.sets.n) and tuple(offsets) == OFFSETS:
            return self.numbers.shares
        return super().shares(columns, offsets)

    def entropy(self) -> torch.Tensor:
        return self.numbers.entropies

    def _sets(self, columns: torch.Tensor) -> slice | None:
        """Which of the sets these are; None where they were not named before the pass."""
        start = 0
        for given in self.numbers.sets.given:
            if given.data_ptr() == columns.data_ptr() and given.shape == columns.shape:
                return slice(start, start + given.shape[-1])
            start += given.shape[-1]
        return None


def kernel_rows(attention: LayerAttention) -> KernelRows:
    """All rows of one layer of a batch that came with their numbers."""
    call = attention.call
    device, n_rows, n_keys = call.queries.device, call.queries.shape[2], call.keys.shape[2]
    if call.mask is not None:
        visible = call.mask[:, 0].sum(-1).expand(len(call.queries), -1)
    elif call.causal:
        visible = torch.arange(1, n_rows + 1, device=device).expand(len(call.queries), -1)
    else:
        visible = torch.full((1, 1), n_keys, device=device).expand(len(call.queries), n_rows)
    empty = torch.empty(0, device=device)
    texts, heads = range(len(call.queries)), range(call.queries.shape[1])
    return KernelRows(attention, texts, heads, first=0, exponentials=empty, total=empty, lse=None, visible=visible)


def fused_rows(attention: LayerAttention) -> FusedRows:
    """One layer of one long text without padding, mask or bias."""
    call, n, n_keys = attention.call, attention.n_queries[0], attention.n_keys[0]
    device, heads = call.queries.device, range(call.queries.shape[1])
    visible = torch.arange(1, n + 1, device=device)[None] if call.causal else torch.full((1, n), n_keys, device=device)
    empty = torch.empty(0, device=device)
    queries, keys = call.queries[:, :, :n], call.keys_by_head()[:, :, :n_keys]  # [1, head, query or key, dim]
    return FusedRows(
        attention, range(1), heads, first=0, exponentials=empty, total=empty, lse=None, visible=visible, queries=queries, keys=keys
    )
