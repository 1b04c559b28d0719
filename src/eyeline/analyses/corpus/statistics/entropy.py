"""How broadly heads look: the entropy of their attention (figure 4 of Clark et al. 2019)."""

from __future__ import annotations

from typing import ClassVar

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
        t = slice(rows.texts.start, rows.texts.stop)
        n_rows = batch.lengths(rows.stack)[t].to(entropies.dtype)  # [text]
        every = (entropies * inside[:, None]).sum(-1) / n_rows[:, None]  # [text, head]
        uniform = (rows.visible.clamp_min(1).to(entropies.dtype).log() * inside).sum(-1) / n_rows  # [text]
        series = _series(rows.stack, batch)
        row = _chosen_rows(rows.stack, series, batch)[t] - rows.first  # [text]; in another block where it is outside 0 … n_rows - 1
        here = (row >= 0) & (row < rows.n_rows)
        index = row.clamp(0, rows.n_rows - 1)[:, None, None].expand(-1, len(rows.heads), 1)
        of_role = torch.where(here[:, None], entropies.gather(2, index).squeeze(2), 0.0)  # [text, head]
        starts = float(len(rows.texts)) if rows.first == 0 else 0.0
        sums = every.double().sum(0)  # [head]
        shares = [sums, of_role.double().sum(0), uniform.double().sum().expand_as(sums), torch.full_like(sums, starts)]
        values = torch.stack(shares, -1)  # [head, (all, one row, uniform, texts)]
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
        return torch.tensor(indices, device=batch.device)

    return batch.once(("chosen rows", stack), make)
