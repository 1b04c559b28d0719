"""The chosen head in a figure: a ring in every panel."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.plots.clickable_cells import head_data, with_clickable_cells
from eyeline.plots.lit_head import RING, with_lit_head, with_lit_row
from eyeline.plots.style import DARK, LIGHT

HEADS = [HeadRef("", 0, 0), HeadRef("", 0, 1), HeadRef("", 1, 0)]


def rings(figure: go.Figure) -> list[go.Scatter]:
    return [trace for trace in figure.data if trace.name == RING]


def panels() -> go.Figure:
    figure = make_subplots(1, 2)
    for column in (1, 2):
        points = {"x": [0, 0, 1], "y": [column, 2, 3], "customdata": [head_data(head) for head in HEADS]}
        figure.add_scatter(**points, mode="markers", marker={"size": 6}, row=1, col=column)
    return figure


def test_the_chosen_head_has_a_ring_in_every_panel_and_no_other_head_has_one():
    lit = with_lit_head(panels(), HEADS[0], LIGHT)
    assert {(ring.xaxis, tuple(ring.x), tuple(ring.y)) for ring in rings(lit)} == {("x", (0,), (1,)), ("x2", (0,), (2,))}
    assert {ring.marker.line.color for ring in rings(lit)} == {LIGHT.ground, LIGHT.ink}
    assert {ring.marker.line.color for ring in rings(with_lit_head(panels(), HEADS[0], DARK))} == {DARK.ground, DARK.ink}


def test_rings_lie_below_the_dots_and_the_figure_that_is_kept_has_none():
    kept = panels()
    lit = with_lit_head(kept, HEADS[2], LIGHT)
    assert [trace.name == RING for trace in lit.data] == [True] * 4 + [False] * 2
    assert rings(kept) == []


def test_a_cell_of_a_grid_is_lit_as_a_square():
    grid = go.Figure(go.Heatmap(z=[[1.0, 2.0]], x=[0, 1], y=[0], text=[["L0·H0", "L0·H1"]]))
    lit = with_lit_head(with_clickable_cells(grid), HEADS[1], LIGHT)
    assert {(tuple(ring.x), ring.marker.symbol) for ring in rings(lit)} == {((1,), "square-open")}


def test_the_columns_of_a_grid_keep_their_order_and_the_ring_its_column():
    names = ["L0·H0", "L0·H1", "L1·H0"]
    grid = go.Figure(go.Heatmap(z=[[1.0, 2.0, 3.0]], x=names, y=["det"], text=[names]))
    grid.update_yaxes(autorange="reversed")
    lit = with_lit_head(with_clickable_cells(grid), HEADS[2], LIGHT)
    assert [tuple(ring.x) for ring in rings(lit)] == [("L1·H0",)] * 2
    assert lit.data[0].name == RING, "the ring comes first, and Plotly would put its column first too"
    assert list(lit.layout.xaxis.categoryarray) == names
    assert tuple(lit.layout.xaxis.range) == (-0.5, 2.5)
    assert tuple(lit.layout.yaxis.range) == (0.5, -0.5)


def test_a_figure_without_that_head_stays_as_it_is():
    figure = panels()
    figure.add_scatter(x=[0], y=[0], customdata=[0.5])
    assert with_lit_head(figure, HeadRef("", 9, 9), LIGHT) is figure


def test_in_a_figure_of_heads_by_heads_the_row_and_the_column_of_the_chosen_head_are_framed_and_named():
    labels = [str(head) for head in HEADS]
    kept = go.Figure(go.Heatmap(z=[[0.0, 1.0, 2.0]] * 3, x=labels, y=labels))
    lit = with_lit_row(kept, "L1·H0", LIGHT)
    frames = {(frame.x0, frame.x1, frame.y0, frame.y1) for frame in lit.layout.shapes}
    assert frames == {(-0.5, 2.5, 1.5, 2.5), (1.5, 2.5, -0.5, 2.5)}
    assert [note.text for note in lit.layout.annotations] == ["L1·H0"]
    assert not kept.layout.shapes, "the figure that is kept has none"
    assert with_lit_row(kept, "L9·H9", LIGHT) is kept
