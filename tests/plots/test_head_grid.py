"""Grids of heads name the layers that they show."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest

from eyeline.plots.head_grid import grid_axes, head_grid
from eyeline.plots.style import Style
from eyeline.results.table import Table


@pytest.mark.parametrize(("layers", "ticks"), [([3, 5], (3, 5)), ([0, 1], None)])
def test_layers_between_the_chosen_ones_are_not_on_the_axis(layers, ticks):
    table = Table({"layer": np.repeat(layers, 2), "head": np.tile([0, 1], 2), "value": np.zeros(4)})
    figure = go.Figure(head_grid(table, "value", Style(), hover="%{z}"))
    grid_axes(figure, Style(), table)
    assert figure.layout.yaxis.tickvals == ticks
    assert figure.layout.xaxis.tickvals is None
