from __future__ import annotations

import pytest

import eyeline as el
from eyeline.measure.compare.result import compared_targets, largest_first, summarise_divergence

TABLE = el.runs.Table(
    {"layer": [0, 1, 2], "head": [3, 3, 5], "js": [0.1, 0.5, float("nan")], "entropy_change": [0.0] * 3, "next_change": [0.1] * 3}
)


def test_the_head_that_lies_furthest_apart_is_named():
    summary = summarise_divergence(TABLE)
    assert (str(summary.head), summary.largest) == ("L1·H3", 0.5)
    assert summary.mean == pytest.approx(0.3)


def test_rows_are_ordered_by_divergence_and_targets_leave_entropy_out():
    assert [row["layer"] for row in largest_first(TABLE.where(head=3))] == [1, 0]
    assert compared_targets(TABLE) == ["next"]
