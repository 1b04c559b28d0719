"""A heatmap whose cells are heads can be clicked: Streamlit hears of clicks on points alone, so every cell gets one, unseen."""

from __future__ import annotations

import re
from typing import Any

import plotly.graph_objects as go

#: %{z:.1f}, %{customdata[0]}
BLANK = re.compile(r"%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}")
HEAD = re.compile(r"L(\d+)·H(\d+)")
UNSEEN = {"marker": {"opacity": 0}}


def clickable(figure: go.Figure) -> go.Figure:
    """The figure, with points over the cells of its heatmaps: columns are heads (or L·H names), rows layers (or relations).

    A point says what the cell would, and its customdata are layer, head and stack (none).
    """
    cells = [(place, _points(trace)) for place, trace in enumerate(figure.data) if isinstance(trace, go.Heatmap)]
    for place, points in cells:
        figure.add_trace(points)
        _framed(figure, figure.data[place])
    for menu in figure.layout.updatemenus:
        for button in menu.buttons:
            shown = list(button.args[0]["visible"])
            button.args[0]["visible"] = [*shown, *(shown[place] for place, _ in cells)]
    return figure


def _framed(figure: go.Figure, heatmap: go.Heatmap) -> None:
    """The axes end where the cells do: points alone would be given air around them."""
    for name, values in ((heatmap.xaxis or "x", heatmap.x), (heatmap.yaxis or "y", heatmap.y)):
        axis = figure.layout[f"{name[0]}axis{name[1:]}"]
        if axis.range is None and not isinstance(values[0], str):
            ends = [float(min(values)) - 0.5, float(max(values)) + 0.5]
            axis.update(range=ends[::-1] if axis.autorange == "reversed" else ends, autorange=False)


def _points(heatmap: go.Heatmap) -> go.Scatter:
    values = heatmap.z
    columns, rows = list(heatmap.x), list(heatmap.y)
    more = heatmap.customdata
    template = str(heatmap.hovertemplate or "").partition("<extra>")[0]
    found: dict[str, list[Any]] = {"x": [], "y": [], "text": [], "customdata": []}
    for i, row in enumerate(rows):
        for j, column in enumerate(columns):
            value = values[i][j]
            if value is None or value != value:
                continue
            named = HEAD.fullmatch(str(column))
            layer, head = (int(named[1]), int(named[2])) if named else (int(row), int(column))
            told = {"x": column, "y": row, "z": value, "customdata": None if more is None else more[i][j]}
            found["x"].append(column)
            found["y"].append(row)
            found["text"].append(_filled(template, told))
            found["customdata"].append([layer, head, ""])
    return go.Scatter(
        **found, mode="markers", hoverinfo="text", showlegend=False, visible=heatmap.visible, xaxis=heatmap.xaxis, yaxis=heatmap.yaxis,
        marker={"size": 16, "symbol": "square", "opacity": 0}, selected=UNSEEN, unselected=UNSEEN,
    )  # fmt: skip


def _filled(template: str, told: dict[str, Any]) -> str:
    """
    >>> _filled("%{y} by %{x}: %{z:.1f} %; %{customdata[0]}", {"x": "L0·H1", "y": "det", "z": 12.345, "customdata": ["back"]})
    'det by L0·H1: 12.3 %; back'
    """

    def fill(blank: re.Match[str]) -> str:
        value = told[blank[1]]
        value = value if blank[2] is None else value[int(blank[2])]
        return format(value, blank[3]) if blank[3] else str(value)

    return BLANK.sub(fill, template)
