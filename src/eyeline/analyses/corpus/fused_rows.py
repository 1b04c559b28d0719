"""Rows without any map: those of the one-pass kernel, and a long text's rows through the device's fused kernel."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from eyeline.analyses.corpus.rows import Rows
from eyeline.capture.layer import LayerScores
from eyeline.errors import TraceError
from eyeline.measures.kernels.one_pass import OFFSETS, KeySets, RowNumbers, attention
from eyeline.measures.streamed import entropy_from_keys, fused, weight_at_offset

#: On a GPU, texts of at least this many tokens go through its fused kernel.
FUSED_FROM = 2048


@dataclass(frozen=True)
class FusedRows(Rows):
    """All rows of one text without padding; `e` and `total` stay empty. The first call of `mass` also computes the mean keys, from which
    the entropy follows: one pass of the kernel for both."""

    causal: bool = False

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
        out, lse = fused(queries, keys, values, self.scale, self.causal)
        if together:
            self._known.update(mean_keys=out[..., : keys.shape[-1]], lse=lse)
            out = out[..., keys.shape[-1] :]
        return out[..., : sets.shape[-1]].float()  # [text, head, row, set]

    def at_offset(self, offset: int) -> torch.Tensor:
        queries, keys = self._pair()
        weights = weight_at_offset(queries, keys, self.scale, self._lse(), offset)
        return torch.zeros_like(weights) if self.causal and offset > 0 else weights

    def entropy(self) -> torch.Tensor:
        lse = self._lse()
        return entropy_from_keys(self._pair()[0], self._known["mean_keys"], self.scale, lse)

    def _lse(self) -> torch.Tensor:
        """log Σ exp s: [text, head, row], float32"""
        if "lse" not in self._known:
            queries, keys = self._pair()
            mean_keys, lse = fused(queries, keys, keys, self.scale, self.causal)
            self._known.update(mean_keys=mean_keys, lse=lse)
        return self._known["lse"]

    def _pair(self) -> tuple[torch.Tensor, torch.Tensor]:
        if self.queries is None or self.keys is None:
            raise RuntimeError("fused rows need queries and keys")
        return self.queries, self.keys


@dataclass(frozen=True)
class KernelRows(Rows):
    """All rows of a batch, whose numbers came with the layer's output (`measures.kernels.one_pass`); `e` and `total` stay empty."""

    scores: LayerScores | None = None

    @property
    def n_rows(self) -> int:
        return self._numbers.shares.shape[2]

    @property
    def _scores(self) -> LayerScores:
        if self.scores is None:
            raise RuntimeError("kernel rows need scores with numbers")
        return self.scores

    @property
    def _numbers(self) -> RowNumbers:
        if self._scores.numbers is None:
            raise RuntimeError("kernel rows need scores with numbers")
        return self._scores.numbers

    def weights(self) -> torch.Tensor:
        raise TraceError("These rows were computed without a map.", "Give the statistic needs_weights = True.")

    def mass(self, columns: torch.Tensor) -> torch.Tensor:
        named = self._sets(columns)
        if named is not None:
            return self._numbers.shares[..., named]
        scores = self._scores  # no statistic named these sets before the pass, so another one is needed
        sets = KeySets.of([columns], scores.keys.dtype)
        numbers = attention(scores.queries, scores.keys, scores.keys, scores.mask, scores.scale, scores.causal, sets)[1]
        return numbers.shares[..., : sets.n]

    def at_offset(self, offset: int) -> torch.Tensor:
        if offset in OFFSETS:
            return self._numbers.shares[..., self._numbers.sets.n + OFFSETS.index(offset)]
        scores = self._scores
        keys = scores.keys.repeat_interleave(scores.queries.shape[1] // scores.keys.shape[1], dim=1)
        weights = weight_at_offset(scores.queries, keys, scores.scale, self._numbers.log_sums, offset)
        if scores.mask is not None:
            band = scores.mask.diagonal(offset, 2, 3)  # [text, 1 or head, row]
            weights[..., max(0, -offset) : max(0, -offset) + band.shape[-1]] *= band
        return torch.zeros_like(weights) if scores.causal and offset > 0 else weights

    def shares(self, columns: torch.Tensor, offsets: Sequence[int]) -> torch.Tensor:
        sets = self._sets(columns)
        if sets == slice(0, self._numbers.sets.n) and tuple(offsets) == OFFSETS:
            return self._numbers.shares
        return super().shares(columns, offsets)

    def entropy(self) -> torch.Tensor:
        return self._numbers.entropies

    def _sets(self, columns: torch.Tensor) -> slice | None:
        """Which of the sets these are; None where they were not named before the pass."""
        start = 0
        for given in self._numbers.sets.given:
            if given.data_ptr() == columns.data_ptr() and given.shape == columns.shape:
                return slice(start, start + given.shape[-1])
            start += given.shape[-1]
        return None


def kernel_rows(scores: LayerScores) -> KernelRows:
    """All rows of one layer of a batch that came with their numbers."""
    device, n_rows, n_keys = scores.queries.device, scores.queries.shape[2], scores.keys.shape[2]
    if scores.mask is not None:
        visible = scores.mask[:, 0].sum(-1).expand(len(scores.queries), -1)
    elif scores.causal:
        visible = torch.arange(1, n_rows + 1, device=device).expand(len(scores.queries), -1)
    else:
        visible = torch.full((1, 1), n_keys, device=device).expand(len(scores.queries), n_rows)
    empty = torch.empty(0, device=device)
    return KernelRows(
        stack=scores.stack,
        layer=scores.layer,
        texts=range(len(scores.queries)),
        heads=range(scores.queries.shape[1]),
        first=0,
        n_queries=scores.n_queries,
        n_keys=scores.n_keys,
        e=empty,
        total=empty,
        lse=None,
        visible=visible,
        scores=scores,
    )


def fused_rows(scores: LayerScores) -> FusedRows:
    """One layer of one long text without padding, mask or bias."""
    n = scores.n_queries[0]
    n_heads = scores.queries.shape[1]
    shared = n_heads // scores.keys.shape[1]
    keys = scores.keys[:, :, : scores.n_keys[0]].repeat_interleave(shared, dim=1)  # [1, head, key, dim]
    device = scores.queries.device
    visible = torch.arange(1, n + 1, device=device)[None] if scores.causal else torch.full((1, n), scores.n_keys[0], device=device)
    empty = torch.empty(0, device=device)
    return FusedRows(
        stack=scores.stack,
        layer=scores.layer,
        texts=range(1),
        heads=range(n_heads),
        first=0,
        n_queries=scores.n_queries,
        n_keys=scores.n_keys,
        e=empty,
        total=empty,
        lse=None,
        visible=visible,
        queries=scores.queries[:, :, :n],
        keys=keys,
        scale=scores.scale,
        causal=scores.causal,
    )
