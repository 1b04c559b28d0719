"""Rows of attention, from a map or from queries and keys. Every statistic is computed from these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property, lru_cache

import torch

from eyeline.capture.layer import LayerAttention
from eyeline.measures.streamed import entropy_from_exponentials, entropy_from_keys


@dataclass(frozen=True)
class Rows:
    """Rows `first`, `first` + 1, … of some texts of a batch, for some heads of one layer.

    texts, heads       which of the batch's texts and of the layer's heads
    n_queries, n_keys  the true lengths of these texts
    e, total, lse      exp(s − max) [text, head, row, key], its sum [text, head, row, 1], and log Σ exp s [text, head, row]
    visible            how many keys each row may attend to: [text, row]
    queries, keys      [text, head, row, dim], [text, head, key, dim] and their scale, where the entropy can be computed from them
    """

    stack: str
    layer: int
    texts: range
    heads: range
    first: int
    n_queries: tuple[int, ...]
    n_keys: tuple[int, ...]
    e: torch.Tensor
    total: torch.Tensor
    lse: torch.Tensor | None
    visible: torch.Tensor
    queries: torch.Tensor | None = None
    keys: torch.Tensor | None = None
    scale: float = 1.0
    _known: dict[str, torch.Tensor] = field(default_factory=dict)

    @property
    def n_rows(self) -> int:
        return self.e.shape[2]

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
        return self.e * self.inverse

    def mass(self, columns: torch.Tensor) -> torch.Tensor:
        """The attention that each row gives to sets of keys: columns [text, key, set] of zeros and ones → [text, head, row, set]."""
        sets = columns[:, None, : self.e.shape[3]].to(self.e.dtype).expand(-1, self.e.shape[1], -1, -1)
        if self.keys is None or "mean_keys" in self._known:
            return (self.e @ sets).mul_(self.inverse)
        # one pass over the exponentials for both: the entropy, which needs the mean keys, is usually computed as well
        both = (self.e @ torch.cat([sets, self.keys], -1)).mul_(self.inverse)  # [text, head, row, set and dim]
        self._known["mean_keys"] = both[..., sets.shape[-1] :]
        return both[..., : sets.shape[-1]]

    def at_offset(self, offset: int) -> torch.Tensor:
        """The attention that each row gives to the key at this offset from it, 0 where there is none: [text, head, row]."""
        weights = torch.zeros(self.e.shape[:3], dtype=self.e.dtype, device=self.e.device)
        band = self.e.diagonal(self.first + offset, 2, 3)  # [text, head, row]; a negative diagonal begins further down
        begin = max(0, -(self.first + offset))
        weights[..., begin : begin + band.shape[-1]] = band
        return weights.mul_(self.inverse.squeeze(-1))

    def shares(self, columns: torch.Tensor, offsets: Sequence[int]) -> torch.Tensor:
        """The attention that each row gives to sets of keys and to the keys at some offsets: [text, head, row, set and offset]."""
        mass = self.mass(columns)
        return torch.cat([mass, torch.stack([self.at_offset(offset) for offset in offsets], -1)], -1) if offsets else mass

    def entropy(self) -> torch.Tensor:
        """In nats: [text, head, row]."""
        if self.queries is None or self.keys is None or self.lse is None:
            return entropy_from_exponentials(self.e, self.total)
        if "mean_keys" not in self._known:
            self._known["mean_keys"] = (self.e @ self.keys).mul_(self.inverse)  # [text, head, row, dim]
        return entropy_from_keys(self.queries, self._known["mean_keys"], self.scale, self.lse)


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
    weights = precise(attention.weights)
    batch, n_heads = weights.shape[:2]
    seen = keys_seen(weights, attention.mask, attention.stack, attention.n_keys, attention.first)  # [text, row, key]
    return Rows(
        stack=attention.stack,
        layer=attention.layer,
        texts=range(batch),
        heads=range(n_heads),
        first=attention.first,
        n_queries=attention.n_queries,
        n_keys=attention.n_keys,
        e=weights,
        total=torch.ones_like(weights[..., :1]),  # not renormalised: where a sink takes a share, rows sum to less than 1
        lse=None,
        visible=seen.sum(-1),
    )
