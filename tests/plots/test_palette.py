"""Heads and layers have the same colours in figures and in views: colours.json, which frontend/src/core/colours.test.ts reads too."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest
from plotly.subplots import make_subplots

from eyeline.plots.corpus.average_attention import add_heads
from eyeline.plots.palette import head_colour, layer_colour
from eyeline.plots.style import Style
from eyeline.results.table import Table

COLOURS = json.loads(Path(__file__).with_name("colours.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_the_colours_of_128_heads_and_12_layers_are_those_of_the_views(theme: str) -> None:
    dark = theme == "dark"
    assert [head_colour(head, dark=dark) for head in range(128)] == COLOURS["heads"][theme].split()
    assert [layer_colour(layer, 12, dark=dark) for layer in range(12)] == COLOURS["layers"][theme].split()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_a_figure_of_20_heads_has_20_colours_those_of_the_views(theme: str) -> None:
    figure: go.Figure = make_subplots(1, 1)
    table = Table({"layer": np.zeros(20, int), "head": np.arange(20)})
    add_heads(figure, Style(dark=theme == "dark"), table, np.zeros(20), "", "", size=6, row=1, col=1)
    assert list(figure.data[0].marker.color) == COLOURS["heads"][theme].split()[:20]
