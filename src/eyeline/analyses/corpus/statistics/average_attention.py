"""Where heads look: the mean share of attention that goes to each kind of key (figure 2 of Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
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

    def options(self) -> dict[str, object]:
        return {"targets": self.targets}

    def update(self, rows: Rows, batch: Batch) -> None:
        t = slice(rows.texts.start, rows.texts.stop)
        columns = columns_of(batch, rows.stack, self._custom)
        offsets = _offsets(rows.stack)
        mass = rows.mass(columns.matrix[t])  # [text, head, row, set]
        at = torch.stack([rows.at_offset(offset) for offset in offsets.values()], -1) if offsets else mass[..., :0]
        shares = torch.cat([mass, at], -1)  # [text, head, row, target]
        seps = sep_rows(batch, rows.stack)[t, rows.first : rows.first + shares.shape[2]]  # [text, row]
        inside = rows.inside.to(shares.dtype)
        groups = torch.stack([inside, inside * seps, inside * (1 - seps)], 1)  # [text, rows that count, row]
        # [text, head, rows that count, target]
        sums = (groups[:, None] @ shares).double()
        names = [*columns.names, *offsets]
        totals = sums[:, :, 0]  # [text, head, target]
        n_rows = batch.lengths(rows.stack)[t]  # [text]
        divisors = n_rows[:, None].expand(-1, len(names))  # [text, target]
        if "sep" in names:
            column = names.index("sep")
            n_seps = sep_rows(batch, rows.stack)[t].sum(-1).double()  # [text]
            totals = torch.cat([totals, sums[:, :, 1:, column]], -1)
            divisors = torch.cat([divisors, torch.stack([n_seps, n_rows - n_seps], -1)], -1)
            names += ["sep_from_sep", "sep_from_other"]
        any_rows = divisors > 0
        means = torch.where(any_rows[:, None], totals / divisors[:, None].clamp_min(1), 0.0).sum(0)  # [head, target]
        counts = any_rows.sum(0).double() * float(rows.first == 0)  # [target]
        values = torch.stack([means, counts.expand_as(means)], -1)  # [head, target, (sum, texts)]
        self.add(SumKey(rows.stack, rows.layer, "mean", tuple(names)), values, rows.heads)

    def result(self) -> dict[str, Table]:
        records = []
        for layer_sum in self.by_layer("mean"):
            for target, name in sorted(enumerate(layer_sum.details), key=lambda pair: _order(pair[1])):
                total, n_texts = layer_sum.values[:, target].T  # [head], [head]
                if n_texts.any():  # no decoder has read its last separator: there is no sep_from_sep
                    records += [(layer_sum.stack, layer_sum.layer, head, name, float(mean)) for head, mean in enumerate(total / n_texts)]
        return {self.name: head_table(records, ("target", "mean"))}


def _offsets(stack: str) -> dict[str, int]:
    """Neighbours exist where queries and keys are one text; a decoder sees no next token."""
    if stack == "cross":
        return {}
    return {name: offset for name, offset in OFFSETS.items() if not (stack == "decoder" and name == "next")}


def _order(name: str) -> tuple[int, str]:
    known = ["cls", "sep", "bos", "eos", "sep_from_sep", "sep_from_other", "punctuation", *OFFSETS, "first", "special", "other"]
    return (known.index(name), "") if name in known else (len(known), name)
