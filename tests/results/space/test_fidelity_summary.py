from __future__ import annotations

import pytest

from eyeline.results.space.fidelity_summary import summarise_fidelity
from eyeline.results.table import Table

NAN = float("nan")
COLUMNS = {
    "layer": [0, 0, 1],
    "head": [4, 5, 4],
    "top1_full": [1.0, 1.0, 0.4],
    "top1_projected": [0.2, 0.8, NAN],
    "top5_projected": [0.4, 1.0, NAN],
    "rank_correlation": [0.1, 0.3, NAN],
}


def test_means_leave_out_heads_without_a_fidelity_and_the_best_and_worst_heads_are_named():
    summary = summarise_fidelity(Table(COLUMNS))
    assert summary is not None
    assert (summary.top1, summary.top5, summary.rank, summary.top1_full) == pytest.approx((0.5, 0.7, 0.2, 0.8))
    assert (str(summary.best), summary.best_top1, str(summary.worst), summary.worst_top1) == ("L0·H5", 0.8, "L0·H4", 0.2)
    assert not summary.is_held_out


def test_numbers_that_were_held_out_are_preferred():
    held_out = {"top1_held_out": [0.1, NAN, NAN], "top5_held_out": [0.2, NAN, NAN], "rank_held_out": [0.3, NAN, NAN]}
    summary = summarise_fidelity(Table(COLUMNS | held_out))
    assert summary is not None
    assert summary.is_held_out
    assert (summary.top1, summary.top5, summary.rank) == (0.1, 0.2, 0.3)


def test_without_any_fidelity_there_is_no_summary():
    assert summarise_fidelity(Table(COLUMNS | {"top1_projected": [NAN] * 3})) is None
