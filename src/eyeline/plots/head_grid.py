"""A number of every head as a grid: layers down, heads across."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.style import Style
from eyeline.results.table import Table


def head_grid(table: Table, column: str, style: Style, *, hover: str, stack: str = "", **look: Any) -> go.Heatmap:
    """A heat map of one column of a table with layer and head; cells of heads that the table does not have stay empty.

    The text of each cell is the label of its head, with its stack: a click reads it.
    """
    layers, heads = (sorted({int(value) for value in table[name]}) for name in ("layer", "head"))
    values = np.full((len(layers), len(heads)), np.nan)  # [layer, head]
    for layer, head, value in zip(table["layer"], table["head"], table[column].astype(float), strict=True):
        values[layers.index(int(layer)), heads.index(int(head))] = value
    labels = [[HeadRef(stack, layer, head).full_label for head in heads] for layer in layers]
    template = f"%{{text}}: {hover}<extra></extra>"
    look = {"colorscale": style.theme.sequential, "xgap": 1, "ygap": 1, "hoverongaps": False, **look}
    return go.Heatmap(z=values.round(4), x=heads, y=layers, text=labels, hovertemplate=template, **look)


def grid_axes(figure: go.Figure, style: Style, table: Table) -> None:
    """Axes for grids: layers down with their title at the left column, heads across."""
    layers, heads = (sorted({int(value) for value in table[name]}) for name in ("layer", "head"))
    figure.update_yaxes(autorange="reversed", showgrid=False, **_ticks(layers, max(1, len(layers) // 12)))
    figure.update_xaxes(title_text=style.label("head"), showgrid=False, **_ticks(heads, 1 if len(heads) <= 12 else 4))


def _ticks(numbers: list[int], step: int) -> dict[str, Any]:
    """Every step-th number; where some were left out, only numbers that the grid has.

    >>> _ticks([0, 1, 2], 1), _ticks([3, 5], 1)
    ({'dtick': 1}, {'tickvals': [3, 5]})
    """
    return {"dtick": step} if numbers == list(range(len(numbers))) else {"tickvals": numbers[::step]}
