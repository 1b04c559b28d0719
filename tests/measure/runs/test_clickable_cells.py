"""Grids whose cells can be clicked."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.measure.runs.figure import with_clickable_cells


def test_the_columns_of_a_grid_keep_their_order_when_its_cells_get_points():
    names = ["L0·H0", "L0·H1", "L1·H0"]
    grid = go.Figure(go.Heatmap(z=[[1.0, 2.0, 3.0]], x=names, y=["det"], text=[names]))
    grid.update_yaxes(autorange="reversed")
    clickable = with_clickable_cells(grid)
    assert list(clickable.layout.xaxis.categoryarray) == names
    assert tuple(clickable.layout.xaxis.range) == (-0.5, 2.5)
    assert tuple(clickable.layout.yaxis.range) == (0.5, -0.5)
