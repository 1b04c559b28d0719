"""How broadly heads look: the entropy of their attention (figure 4 of Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch

from eyeline.measure.runs.table import Cell, Table, head_table
from eyeline.measure.statistics.rows import Rows, numbers_on
from eyeline.measure.statistics.statistic import Batch, Statistic, SumKey
from eyeline.models.inputs import send
from eyeline.models.kernels import entropy_from_exponentials


class Entropy(Statistic):
    """For each head, the entropy of its rows in nats: the mean over rows, then over texts.

    all       every row
    cls       the `[CLS]` row alone; of decoders the last row (`last`: it sees the whole text), of encoders without `[CLS]` the first
    Of models with a learned sink (gpt-oss) the sink counts as one more key: −Σ_j a_ij log a_ij − s_i log s_i, s_i = 1 − Σ_j a_ij.

    uniform   what attention spread evenly over the visible keys would give: ln n, in a decoder the mean of ln 1 … ln n
    smoothing the paper takes 0.0001 · 1/n + 0.9999 · A to avoid log 0. We take 0 · log 0 = 0 and no smoothing (0); the two differ
              by at most 0.0016 nats at 128 tokens.
    """

    name: ClassVar[str] = "entropy"

    def __init__(self, smoothing: float = 0.0) -> None:
        super().__init__()
        self.smoothing = smoothing
        self.needs_weights = smoothing > 0
        self._waiting: list[_LayerEntropies] = []

    def options(self) -> dict[str, object]:
        return {"smoothing": self.smoothing}

    def update(self, rows: Rows, batch: Batch) -> None:
        entropies = self._entropies(rows)  # [text, head, row]
        series = _series(rows.stack, batch)
        counted = batch.once(
            ("rows of entropy", rows.stack, rows.texts, rows.first, rows.n_rows),
            lambda: _rows_that_count(rows, batch, series, entropies.dtype),
        )
        starts = float(len(rows.texts)) if rows.first == 0 else 0.0
        means = entropies @ counted  # [text, head, (all, one row)]
        visible = rows.visible + 1 if rows.attention.sink else rows.visible
        layer = _LayerEntropies(SumKey(rows.stack, rows.layer, "entropy", (series,)), rows.heads, counted, means, visible, starts)
        if entropies.is_cuda:
            self._waiting.append(layer)
        else:
            self._add([layer])

    def finish(self, batch: Batch) -> None:
        """On a GPU all layers of a batch are summed together: many small steps would take longer than the model's pass."""
        waiting, self._waiting = self._waiting, []
        alike: dict[tuple[int, tuple[int, ...], tuple[int, ...]], list[_LayerEntropies]] = {}
        for layer in waiting:
            alike.setdefault((id(layer.counted), tuple(layer.means.shape), tuple(layer.visible.shape)), []).append(layer)
        for layers in alike.values():
            self._add(layers)

    def _add(self, layers: Sequence[_LayerEntropies]) -> None:
        """Layers whose texts and rows are the same."""
        counted = layers[0].counted  # [text, row, (all, one row)]
        means = torch.stack([layer.means for layer in layers]).double().sum(1)  # [layer, head, (all, one row)]
        visible = torch.stack([layer.visible for layer in layers])  # [layer, text, row]
        even = visible.clamp_min(1).to(counted.dtype).log() * counted[..., 0]  # [layer, text, row]
        uniform = even.sum(-1).double().sum(-1)[:, None].expand(means.shape[:2])  # [layer, head]
        texts = torch.full_like(uniform, layers[0].n_texts)
        values = torch.stack([means[..., 0], means[..., 1], uniform, texts], -1)  # [layer, head, (all, one row, uniform, texts)]
        for layer, of_layer in zip(layers, values, strict=True):
            self.add(layer.key, of_layer, layer.heads)

    def _entropies(self, rows: Rows) -> torch.Tensor:
        if not self.smoothing:
            return rows.entropy()
        n_keys = numbers_on(rows.exponentials.device, rows.n_keys)[:, None, None, None]
        positions = torch.arange(rows.exponentials.shape[-1], device=rows.exponentials.device)
        even = (positions < n_keys) / n_keys  # [text, 1, 1, key]
        smooth = (1 - self.smoothing) * rows.weights() + self.smoothing * even  # [text, head, row, key]
        # a block of a causal text ends at its last row: the keys after it have their even share too
        share = self.smoothing / n_keys[..., 0].to(smooth.dtype)  # [text, 1, 1]
        after_block = (n_keys[..., 0] - len(positions)).clamp_min(0) * -share * share.log()  # [text, 1, 1]
        return entropy_from_exponentials(smooth, torch.ones_like(rows.total)) + after_block

    def result(self) -> dict[str, Table]:
        series = "cls"
        records: list[tuple[Cell, ...]] = []
        for layer_sum in self.by_layer("entropy"):
            (name,) = layer_sum.details
            series = name if not records or series == name else "one_row"  # the stacks of one model may differ
            means = layer_sum.values[:, :3] / layer_sum.values[:, 3:]  # [head, (all, one row, uniform)]
            records += [(layer_sum.stack, layer_sum.layer, head, *(float(mean) for mean in row)) for head, row in enumerate(means)]
        return {self.name: head_table(records, ("all", series, "uniform"))}


@dataclass(frozen=True)
class _LayerEntropies:
    """The entropies of one layer.

    counted   how much each row counts: [text, row, (all, one row)]
    means     of the rows that count: [text, head, (all, one row)]
    visible   how many keys each row may attend to: [text, row]
    n_texts   how many texts begin here
    """

    key: SumKey
    heads: range
    counted: torch.Tensor
    means: torch.Tensor
    visible: torch.Tensor
    n_texts: float


def _rows_that_count(rows: Rows, batch: Batch, series: str, dtype: torch.dtype) -> torch.Tensor:
    """1 / n for each row of a text of n rows, and 1 for the row that stands for the whole text: [text, row, (all, one row)]."""
    t = slice(rows.texts.start, rows.texts.stop)
    inside = rows.inside.to(dtype) / batch.lengths(rows.stack)[t].to(dtype)[:, None]  # [text, row]
    chosen = _chosen_rows(rows.stack, series, batch)[t] - rows.first  # [text]; in another block where it is outside
    of_role = torch.arange(rows.n_rows, device=inside.device) == chosen[:, None]  # [text, row]
    return torch.stack([inside, of_role.to(dtype)], -1)


def _series(stack: str, batch: Batch) -> str:
    """The name of the row that stands for the whole text."""
    return "last" if stack != "encoder" else "cls" if "cls" in batch.roles else "first"


def _chosen_rows(stack: str, series: str, batch: Batch) -> torch.Tensor:
    """The index of that row in each text of the batch."""

    def make() -> torch.Tensor:
        texts = [queries for queries, _ in batch.texts(stack)]
        if series == "last":
            indices = [len(text) - 1 for text in texts]
        elif series == "first":
            indices = [0 for _ in texts]
        else:
            cls = batch.roles["cls"]
            indices = [text.ids.index(cls) if cls in text.ids else 0 for text in texts]
        return send(np.array(indices), batch.device)

    return batch.once(("chosen rows", stack), make)
