"""Grids of heads name the layers that they show."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

import eyeline as el
from eyeline.measure.runs.figure import Style, grid_axes, head_grid


@pytest.mark.parametrize(("layers", "ticks"), [([3, 5], (3, 5)), ([0, 1], None)])
def test_layers_between_the_chosen_ones_are_not_on_the_axis(layers, ticks):
    table = el.runs.Table({"layer": np.repeat(layers, 2), "head": np.tile([0, 1], 2), "value": np.zeros(4)})
    figure = go.Figure(head_grid(table, "value", Style(), hover="%{z}"))
    grid_axes(figure, Style(), table)
    assert figure.layout.yaxis.tickvals == ticks
    assert figure.layout.xaxis.tickvals is None
