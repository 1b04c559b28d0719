"""Where heads look: the mean share of attention that goes to each kind of key (figure 2 of Clark et al. 2019)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import numpy as np
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
        sums = (groups[:, None] @ shares).double().cpu().numpy()
        names = (*columns.names, *offsets)
        totals = {name: sums[:, :, 0, i] for i, name in enumerate(names)}  # [text, head]
        n_rows = np.array(rows.n_queries, dtype=np.float64)
        divisors = dict.fromkeys(names, n_rows)
        if "sep" in names:
            column = names.index("sep")
            n_seps = sep_rows(batch, rows.stack)[t].sum(-1).double().cpu().numpy()  # [text]
            totals |= {"sep_from_sep": sums[:, :, 1, column], "sep_from_other": sums[:, :, 2, column]}
            divisors |= {"sep_from_sep": n_seps, "sep_from_other": n_rows - n_seps}
        means = np.stack([_share(totals[name], divisors[name]) for name in totals], -1)  # [text, head, target]
        counted = np.stack([divisors[name] > 0 for name in totals], -1) * float(rows.first == 0)  # [text, target]
        counts = np.broadcast_to(counted.sum(0), means.shape[1:])  # [head, target]
        sums = np.stack([means.sum(0), counts], -1)  # [head, target, (sum, texts)]
        self.add(SumKey(rows.stack, rows.layer, "mean", tuple(totals)), sums, rows.heads)

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


def _share(total: np.ndarray, divisor: np.ndarray) -> np.ndarray:
    return np.asarray(np.divide(total, divisor[:, None], out=np.zeros_like(total), where=divisor[:, None] > 0))


def _order(name: str) -> tuple[int, str]:
    known = ["cls", "sep", "bos", "eos", "sep_from_sep", "sep_from_other", "punctuation", *OFFSETS, "first", "special", "other"]
    return (known.index(name), "") if name in known else (len(known), name)
