"""The largest score of each head before its softmax: where it grows without end, training breaks."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np
import torch

from eyeline.errors import ModelError
from eyeline.measure.runs.table import Table, head_table
from eyeline.measure.statistics.rows import Rows, precise, rows_of_scores
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey
from eyeline.models.attention import AttentionCall, LayerAttention
from eyeline.models.model import Model


class MaxLogit(Statistic):
    """For each head, the largest score before the softmax over all texts, rows and visible keys:  max s · q·k + bias.

    The quantity that MuonClip bounds (Kimi K2, 2025). A softcap or a sink of the family is not in it. Only of models whose queries and
    keys are recorded. Its sums are maxima: merging takes the larger.
    """

    name: ClassVar[str] = "max_logit"
    combine: ClassVar[np.ufunc] = np.maximum

    def prepare(self, model: Model, seed: int) -> None:
        if not model.layout.recorded:
            raise ModelError(f"No scores of {model.name}: {model.layout.why_weights_only}.", "They are made of queries and keys.")

    def update(self, rows: Rows, batch: Batch) -> None:
        if rows.lse is not None:
            self._add(rows, rows.lse - rows.total.squeeze(-1).log())  # [text, head, row]
        elif rows.attention.call.maps is None:  # a kernel gave the numbers of all rows without their scores: they are computed in blocks
            call = replace(rows.attention.call, numbers=None)
            for block in rows_of_scores(replace(rows.attention, recorded=call), fused=False):
                if block.lse is not None:
                    self._add(block, block.lse - block.total.squeeze(-1).log())
        else:
            self._add(rows, largest_of_map(rows.attention, rows.attention.call))

    def _add(self, rows: Rows, largest: torch.Tensor) -> None:
        """largest: of each row, [text, head, row]"""
        own = largest.masked_fill(~rows.inside[:, None], -torch.inf).amax((0, 2))  # [head]
        self.add(SumKey(rows.stack, rows.layer, "largest"), own.double(), rows.heads)

    def result(self) -> dict[str, Table]:
        records = [
            (layer_sum.stack, layer_sum.layer, head, float(value))
            for layer_sum in self.by_layer("largest")
            for head, value in enumerate(layer_sum.values)
        ]
        return {self.name: head_table(records, ("max_logit",))}


def largest_of_map(attention: LayerAttention, call: AttentionCall) -> torch.Tensor:
    """The largest score of each row of a call whose maps are there: [text, head, row]."""
    scores = call.scale * precise(call.queries) @ precise(call.keys_by_head()).mT  # [text, head, row, key]
    for term in (call.bias, call.mask_as_numbers()):
        scores = scores if term is None else scores + precise(term)
    positions = torch.arange(scores.shape[3], device=scores.device)
    lengths = torch.tensor(attention.n_keys, device=scores.device)
    return scores.masked_fill((positions >= lengths[:, None])[:, None, None], -torch.inf).amax(-1)
