from __future__ import annotations

import pytest

import eyeline as el
from eyeline.measure.space.result import summarise_fidelity

NAN = float("nan")
COLUMNS = {
    "layer": [0, 0, 1],
    "head": [4, 5, 4],
    "top1_full": [1.0, 1.0, 0.4],
    "top1_held_out": [0.2, 0.8, NAN],
    "top5_held_out": [0.4, 1.0, NAN],
    "rank_held_out": [0.1, 0.3, NAN],
    "top1_projected": [0.9, 0.9, 0.9],
}


def test_means_leave_out_heads_without_a_fidelity_and_the_best_and_worst_heads_are_named():
    summary = summarise_fidelity(el.runs.Table(COLUMNS))
    assert summary is not None
    assert (summary.top1, summary.top5, summary.rank, summary.top1_full) == pytest.approx((0.5, 0.7, 0.2, 0.8))
    assert (str(summary.best), summary.best_top1, str(summary.worst), summary.worst_top1) == ("L0·H5", 0.8, "L0·H4", 0.2)


def test_without_any_fidelity_there_is_no_summary():
    assert summarise_fidelity(el.runs.Table(COLUMNS | {"top1_held_out": [NAN] * 3})) is None
