"""Heads have the same colours in figures as in views."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

import eyeline as el
from eyeline.look.palette import head_colour
from eyeline.measure.corpus.figures import add_heads
from eyeline.measure.runs.figure import Style


@pytest.mark.parametrize("dark", [False, True])
def test_a_figure_of_20_heads_has_20_colours_those_of_the_views(dark: bool) -> None:
    figure: go.Figure = make_subplots(1, 1)
    table = el.runs.Table({"layer": np.zeros(20, int), "head": np.arange(20)})
    add_heads(figure, Style(dark=dark), table, np.zeros(20), "", "", size=6, row=1, col=1)
    assert list(figure.data[0].marker.color) == [head_colour(head, dark=dark) for head in range(20)]
    assert len({*figure.data[0].marker.color}) == 20
