"""How far the pictures of a space can be trusted, in a few numbers for all heads."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.heads import HeadRef
from eyeline.results.space.shown_fidelity import HELD_OUT, shown_columns
from eyeline.results.table import Table


@dataclass(frozen=True)
class FidelitySummary:
    """Means over heads, and the heads with the largest and the smallest `top1`.

    top1, top5   the share of queries whose most attended key is the nearest, or among the nearest five
    rank         the rank correlation between attention and nearness
    top1_full    `top1` before the projection, in all dimensions
    is_held_out  whether these numbers come from attention that the fit did not see
    """

    top1: float
    top5: float
    rank: float
    top1_full: float
    is_held_out: bool
    best: HeadRef
    best_top1: float
    worst: HeadRef
    worst_top1: float


def summarise_fidelity(table: Table) -> FidelitySummary | None:
    """The summary of a space's table; None where no head has a fidelity (all heads attend to all keys alike, or the points are values)."""
    columns = shown_columns(table)
    top1 = table[columns[0]].astype(float)
    if not np.isfinite(top1).any():
        return None
    mean_top1, mean_top5, rank, full = (float(np.nanmean(table[name].astype(float))) for name in (*columns, "top1_full"))
    best, worst = int(np.nanargmax(top1)), int(np.nanargmin(top1))
    heads = [HeadRef("", int(table["layer"][index]), int(table["head"][index])) for index in (best, worst)]
    return FidelitySummary(mean_top1, mean_top5, rank, full, columns is HELD_OUT, heads[0], float(top1[best]), heads[1], float(top1[worst]))
