"""A number of every head as a grid: layers down, heads across."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from eyeline.results.table import Table


def head_grid(table: Table, column: str, *, hover: str, **look: Any) -> go.Heatmap:
    """A heat map of one column of a table with layer and head; heads that the table has not stay empty."""
    layers = sorted({int(layer) for layer in table["layer"]})
    heads = sorted({int(head) for head in table["head"]})
    values = np.full((len(layers), len(heads)), np.nan)  # [layer, head]
    for layer, head, value in zip(table["layer"], table["head"], table[column].astype(float), strict=True):
        values[layers.index(int(layer)), heads.index(int(head))] = value
    look = {"colorscale": "Blues", **look}
    return go.Heatmap(
        z=values.round(4), x=heads, y=layers, hovertemplate=f"L%{{y}}·H%{{x}}: {hover}<extra></extra>", xgap=1, ygap=1, **look
    )
