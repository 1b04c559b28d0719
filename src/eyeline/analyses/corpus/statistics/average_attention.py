"""Where heads look: the mean share of attention that goes to each kind of key (figure 2 of Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import ClassVar

import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.targets import OFFSETS, check_targets, columns_of, sep_rows
from eyeline.analyses.corpus.sums import SumKey
from eyeline.analyses.tables import head_table
from eyeline.results.table import Table


class AverageAttention(Statistic):
    """For each head, the mean over texts of  Σ_ij A[i, j] · S[i, j] / D,  where S selects the target's keys and D is the number of rows.

    Targets: the special tokens that the tokeniser adds (cls, sep, bos, eos), punctuation (. and ,), first, special, other (neither special
    nor punctuation), next, previous, self; `sep_from_sep` and `sep_from_other` take only the rows that are, or are not, separators.
    Decoders have no next; where they add no beginning token, the first position is neither other nor punctuation, only first.
    targets: further ones, name → a regular expression that a whole token matches.
    """

    name: ClassVar[str] = "average_attention"

    def __init__(self, targets: Mapping[str, str] | None = None) -> None:
        super().__init__()
        self.targets = dict(targets or {})
        self._custom = check_targets(self.targets)
        self._waiting: list[_LayerShares] = []

    def options(self) -> dict[str, object]:
        return {"targets": self.targets}

    def key_sets(self, batch: Batch, stack: str) -> torch.Tensor | None:
        return columns_of(batch, stack, self._custom).matrix

    def update(self, rows: Rows, batch: Batch) -> None:
        t = slice(rows.texts.start, rows.texts.stop)
        columns = columns_of(batch, rows.stack, self._custom)
        offsets = _offsets(rows.stack)
        shares = rows.shares(columns.matrix[t], tuple(offsets.values()))  # [text, head, row, target]
        names = (*columns.names, *offsets)
        counted = batch.once(
            ("rows that count", rows.stack, names, rows.texts, rows.first, rows.n_rows),
            lambda: _Counted.of(rows, batch, names, shares.dtype),
        )
        sums = counted.rows[:, None] @ shares  # [text, head, rows that count, target]
        if sums.is_cuda:
            self._waiting.append(_LayerShares(rows.stack, rows.layer, rows.heads, counted, sums))
        else:
            self._add(counted, [_LayerShares(rows.stack, rows.layer, rows.heads, counted, sums)])

    def finish(self, batch: Batch) -> None:
        """On a GPU all layers of a batch are summed together: many small steps would take longer than the model's pass."""
        waiting, self._waiting = self._waiting, []
        alike: dict[tuple[int, tuple[int, ...]], list[_LayerShares]] = {}
        for layer in waiting:
            alike.setdefault((id(layer.counted), tuple(layer.sums.shape)), []).append(layer)
        for layers in alike.values():
            self._add(layers[0].counted, layers)

    def _add(self, counted: _Counted, layers: Sequence[_LayerShares]) -> None:
        sums = torch.stack([layer.sums for layer in layers]).double()  # [layer, text, head, rows that count, target]
        totals = sums[:, :, :, 0]  # [layer, text, head, target]
        if "sep" in counted.names:
            totals = torch.cat([totals, sums[:, :, :, 1:, counted.names.index("sep")]], -1)
        means = (totals / counted.divisors[:, None]).sum(1)  # [layer, head, target]; without rows it is 0 / 1
        values = torch.stack([means, counted.n_texts.expand_as(means)], -1)  # [layer, head, target, (sum, texts)]
        for layer, of_layer in zip(layers, values, strict=True):
            self.add(SumKey(layer.stack, layer.layer, "mean", counted.all_names), of_layer, layer.heads)

    def result(self) -> dict[str, Table]:
        records = []
        for layer_sum in self.by_layer("mean"):
            for target, name in sorted(enumerate(layer_sum.details), key=lambda pair: _order(pair[1])):
                total, n_texts = layer_sum.values[:, target].T  # [head], [head]
                if n_texts.any():  # texts without separator rows have no sep_from_sep
                    records += [(layer_sum.stack, layer_sum.layer, head, name, float(mean)) for head, mean in enumerate(total / n_texts)]
        return {self.name: head_table(records, ("target", "mean"))}


@dataclass(frozen=True)
class _Counted:
    """Which rows of some texts count for which target: the same for every layer.

    names      of the targets; all_names: with sep_from_sep and sep_from_other
    rows       1 for each row that counts: [text, (all, separators, others), row]
    divisors   how many rows each mean is over, at least 1: [text, target of all_names]
    n_texts    how many texts each mean is over: [target of all_names]
    """

    names: tuple[str, ...]
    all_names: tuple[str, ...]
    rows: torch.Tensor
    divisors: torch.Tensor
    n_texts: torch.Tensor

    @classmethod
    def of(cls, rows: Rows, batch: Batch, names: tuple[str, ...], dtype: torch.dtype) -> _Counted:
        t = slice(rows.texts.start, rows.texts.stop)
        seps = sep_rows(batch, rows.stack)[t, rows.first : rows.first + rows.n_rows]  # [text, row]
        inside = rows.inside.to(dtype)
        n_rows = batch.lengths(rows.stack)[t]  # [text]
        divisors, all_names = n_rows[:, None].expand(-1, len(names)), names  # [text, target]
        if "sep" in names:
            n_seps = sep_rows(batch, rows.stack)[t].sum(-1).double()  # [text]
            divisors = torch.cat([divisors, torch.stack([n_seps, n_rows - n_seps], -1)], -1)
            all_names = (*names, "sep_from_sep", "sep_from_other")
        n_texts = (divisors > 0).sum(0).double() * float(rows.first == 0)  # [target]
        counting = torch.stack([inside, inside * seps, inside * (1 - seps)], 1)  # [text, rows that count, row]
        return cls(names, all_names, counting, divisors.clamp_min(1), n_texts)


@dataclass(frozen=True)
class _LayerShares:
    """The sums of one layer: [text, head, rows that count, target]."""

    stack: str
    layer: int
    heads: range
    counted: _Counted
    sums: torch.Tensor


def _offsets(stack: str) -> dict[str, int]:
    """Neighbours exist where queries and keys are one text; a decoder sees no next token."""
    if stack == "cross":
        return {}
    return {name: offset for name, offset in OFFSETS.items() if not (stack == "decoder" and name == "next")}


def _order(name: str) -> tuple[int, str]:
    known = ["cls", "sep", "bos", "eos", "sep_from_sep", "sep_from_other", "punctuation", *OFFSETS, "first", "special", "other"]
    return (known.index(name), "") if name in known else (len(known), name)
