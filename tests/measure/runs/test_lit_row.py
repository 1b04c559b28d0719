"""The chosen head in a figure of heads by heads."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline import HeadRef
from eyeline.measure.runs.figure import LIGHT, with_lit_row

HEADS = [HeadRef("", 0, 0), HeadRef("", 0, 1), HeadRef("", 1, 0)]


def test_in_a_figure_of_heads_by_heads_the_row_and_the_column_of_the_chosen_head_are_framed_and_named():
    labels = [str(head) for head in HEADS]
    kept = go.Figure(go.Heatmap(z=[[0.0, 1.0, 2.0]] * 3, x=labels, y=labels))
    lit = with_lit_row(kept, "L1·H0", LIGHT)
    frames = {(frame.x0, frame.x1, frame.y0, frame.y1) for frame in lit.layout.shapes}
    assert frames == {(-0.5, 2.5, 1.5, 2.5), (1.5, 2.5, -0.5, 2.5)}
    assert [note.text for note in lit.layout.annotations] == ["L1·H0"]
    assert not kept.layout.shapes, "the figure that is kept has none"
    assert with_lit_row(kept, "L9·H9", LIGHT) is kept
