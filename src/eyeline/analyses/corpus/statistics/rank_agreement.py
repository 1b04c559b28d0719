"""Do the estimates agree with the ablations, and do heads with low entropy matter more? Rank correlations over the heads of a run."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.stats import spearmanr

from eyeline.heads import HeadRef
from eyeline.results.table import Table

COLUMNS = ("first", "second", "correlation", "heads")


def rank_agreement(tables: Mapping[str, Table]) -> Table:
    """Spearman's rank correlation between columns of `causes`, and with the attention statistics that the run has.

    |loss_change| is the size of the effect, whichever its sign.
    """
    causes = tables["causes"]
    loss = causes["loss_change"].astype(float)
    pairs: list[tuple[str, str, np.ndarray, np.ndarray]] = [
        ("loss_change", "attribution", loss, causes["attribution"].astype(float)),
        ("|loss_change|", "gradient", np.abs(loss), causes["gradient"].astype(float)),
        ("loss_change", "answer_change", loss, causes["answer_change"].astype(float)),
    ]
    if "entropy" in tables:
        pairs.append(("|loss_change|", "entropy", np.abs(loss), _of_heads(causes, tables["entropy"], "all")))
    if "average_attention" in tables:
        average = tables["average_attention"]
        for target in ("sep", "first", "previous", "next", "self", "other"):
            part = average.where(target=target)
            if len(part):
                pairs.append(("|loss_change|", f"attention to {target}", np.abs(loss), _of_heads(causes, part, "mean")))
    rows = []
    for first, second, x, y in pairs:
        inside = np.isfinite(x) & np.isfinite(y)
        varies = inside.sum() > 2 and np.ptp(x[inside]) > 0 and np.ptp(y[inside]) > 0
        value = float(spearmanr(x[inside], y[inside]).statistic) if varies else float("nan")
        rows.append({"first": first, "second": second, "correlation": value, "heads": int(inside.sum())})
    return Table.from_rows(rows, COLUMNS)


def _of_heads(causes: Table, table: Table, column: str) -> np.ndarray:
    """A column of another table for the heads of `causes`, in its order; nan where the head is missing."""
    values = {key: float(value) for key, value in zip(_heads(table), table[column], strict=True)}
    return np.array([values.get(key, np.nan) for key in _heads(causes)])


def _heads(table: Table) -> list[HeadRef]:
    stacks = [str(stack) for stack in table.columns["stack"]] if "stack" in table.columns else [""] * len(table)
    return list(map(HeadRef, stacks, table["layer"].astype(int).tolist(), table["head"].astype(int).tolist()))
