"""How broadly heads look: the entropy of their attention (figure 4 of Clark et al. 2019)."""

from __future__ import annotations

from typing import ClassVar

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.sums import SumKey
from eyeline.analyses.tables import head_table
from eyeline.measures.streamed import entropy_from_exponentials
from eyeline.results.table import Cell, Table


class Entropy(Statistic):
    """For each head, the entropy of its rows in nats: the mean over rows, then over texts.

    all       every row
    cls       the `[CLS]` row alone; a decoder's last row (`last`, it has seen the whole text), another encoder's first (`first`)
    uniform   what attention spread evenly over the visible keys would give: ln n, in a decoder the mean of ln 1 … ln n
    smoothing the paper takes 0.0001 · 1/n + 0.9999 · A to keep clear of log 0. We take 0 · log 0 = 0 and no smoothing (0); the two differ
              by at most 0.0016 nats at 128 tokens.
    """

    name: ClassVar[str] = "entropy"

    def __init__(self, smoothing: float = 0.0) -> None:
        super().__init__()
        self.smoothing = smoothing
        self.needs_weights = smoothing > 0

    def options(self) -> dict[str, object]:
        return {"smoothing": self.smoothing}

    def update(self, rows: Rows, batch: Batch) -> None:
        entropies = self._entropies(rows)  # [text, head, row]
        inside = rows.inside.to(entropies.dtype)  # [text, row]
        n_rows = torch.tensor(rows.n_queries, device=entropies.device)
        every = (entropies * inside[:, None]).sum(-1) / n_rows[:, None]  # [text, head]
        uniform = (rows.visible.clamp_min(1).to(entropies.dtype).log() * inside).sum(-1) / n_rows  # [text]
        series, chosen = _series(rows, batch)  # the row of each text, -1 where it is not in this block
        texts = [text for text, row in enumerate(chosen) if row >= 0]
        of_role = entropies[texts, :, [chosen[text] for text in texts]].double().cpu().numpy()  # [chosen text, head]
        starts = float(len(rows.texts)) if rows.first == 0 else 0.0
        n = len(rows.heads)
        values = np.stack(
            [
                every.double().sum(0).cpu().numpy(),
                of_role.sum(0),
                np.full(n, float(uniform.double().sum())),
                np.full(n, starts),
            ],
            -1,
        )  # [head, (all, one row, uniform, texts)]
        self.add(SumKey(rows.stack, rows.layer, "entropy", (series,)), values, rows.heads)

    def _entropies(self, rows: Rows) -> torch.Tensor:
        if not self.smoothing:
            return rows.entropy()
        n_keys = torch.tensor(rows.n_keys, device=rows.e.device)[:, None, None, None]
        positions = torch.arange(rows.e.shape[-1], device=rows.e.device)
        even = (positions < n_keys) / n_keys  # [text, 1, 1, key]
        smooth = (1 - self.smoothing) * rows.weights() + self.smoothing * even  # [text, head, row, key]
        # a block of a causal text ends at its last row: the keys behind it have their even share too
        share = self.smoothing / n_keys[..., 0].to(smooth.dtype)  # [text, 1, 1]
        behind = (n_keys[..., 0] - len(positions)).clamp_min(0) * -share * share.log()  # [text, 1, 1]
        return entropy_from_exponentials(smooth, torch.ones_like(rows.total)) + behind

    def result(self) -> dict[str, Table]:
        series = "cls"
        records: list[tuple[Cell, ...]] = []
        for layer_sum in self.by_layer("entropy"):
            (name,) = layer_sum.details
            series = name if not records or series == name else "one_row"  # the stacks of one model may differ
            means = layer_sum.values[:, :3] / layer_sum.values[:, 3:]  # [head, (all, one row, uniform)]
            records += [(layer_sum.stack, layer_sum.layer, head, *(float(mean) for mean in row)) for head, row in enumerate(means)]
        return {self.name: head_table(records, ("all", series, "uniform"))}


def _series(rows: Rows, batch: Batch) -> tuple[str, list[int]]:
    """The row that stands for the whole text: its name, and its index in this block for each text (-1: in another block)."""
    texts = [queries for queries, _ in batch.texts(rows.stack)][rows.texts.start : rows.texts.stop]
    last = rows.first + rows.n_rows
    name = "last" if rows.stack != "encoder" else "cls" if "cls" in batch.roles else "first"
    row_indices = []
    for text in texts:
        position = len(text) - 1 if name == "last" else 0
        if name == "cls":
            position = text.ids.index(batch.roles["cls"]) if batch.roles["cls"] in text.ids else 0
        row_indices.append(position - rows.first if rows.first <= position < last else -1)
    return name, row_indices
