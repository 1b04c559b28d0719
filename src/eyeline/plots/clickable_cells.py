"""Heads that can be clicked in a figure: points that carry a head, and grids, where every cell gets an invisible point."""

from __future__ import annotations

import re
from typing import Any

import plotly.graph_objects as go

from eyeline.heads import HeadRef

#: %{z:.1f}, %{customdata[0]}
BLANK = re.compile(r"%\{(\w+)(?:\[(\d+)\])?(?::([^}]*))?\}")


def with_clickable_cells(figure: go.Figure) -> go.Figure:
    """The figure, with points over the cells of its heatmaps, whose texts are labels of heads.

    A point has the hover text of its cell, and its customdata are layer, head and stack.
    """
    points = [(index, _points(trace)) for index, trace in enumerate(figure.data) if isinstance(trace, go.Heatmap)]
    for index, trace in points:
        figure.add_trace(trace)
        _fix_axes(figure, figure.data[index])
    for menu in figure.layout.updatemenus:
        for button in menu.buttons:
            visible = list(button.args[0]["visible"])
            button.args[0]["visible"] = [*visible, *(visible[index] for index, _ in points)]
    return figure


def _fix_axes(figure: go.Figure, heatmap: go.Heatmap) -> None:
    """End the axes where the cells end: Plotly would leave space around points. Keep the order of names: later traces could change it."""
    for name, values in ((heatmap.xaxis or "x", heatmap.x), (heatmap.yaxis or "y", heatmap.y)):
        axis = figure.layout[f"{name[0]}axis{name[1:]}"]
        if isinstance(values[0], str):
            axis.update(categoryorder="array", categoryarray=list(dict.fromkeys(values)))
            values = range(len(axis.categoryarray))
        if axis.range is None:
            ends = [float(min(values)) - 0.5, float(max(values)) + 0.5]
            axis.update(range=ends[::-1] if axis.autorange == "reversed" else ends, autorange=False)


def _points(heatmap: go.Heatmap) -> go.Scatter:
    template = str(heatmap.hovertemplate or "").partition("<extra>")[0]
    points: dict[str, list[Any]] = {"x": [], "y": [], "text": [], "customdata": []}
    for i, row in enumerate(heatmap.y):
        for j, column in enumerate(heatmap.x):
            value, label = heatmap.z[i][j], heatmap.text[i][j]
            if value is None or value != value:
                continue
            head = HeadRef.parse(label)
            data = None if heatmap.customdata is None else heatmap.customdata[i][j]
            points["x"].append(column)
            points["y"].append(row)
            points["text"].append(_filled(template, {"x": column, "y": row, "z": value, "text": label, "customdata": data}))
            points["customdata"].append(head_data(head))
    return go.Scatter(
        **points, mode="markers", hoverinfo="text", showlegend=False, visible=heatmap.visible, xaxis=heatmap.xaxis, yaxis=heatmap.yaxis,
        marker={"size": 16, "symbol": "square", "opacity": 0},
    )  # fmt: skip


def head_data(head: HeadRef) -> list[Any]:
    """The customdata of a point that stands for a head."""
    return [head.layer, head.head, head.stack]


def head_from(data: Any) -> HeadRef | None:
    """The head of a point that was clicked, None where it stands for no head.

    >>> head_from([3, 7, "cross"]), head_from([3, 7]), head_from(None)
    (HeadRef(stack='cross', layer=3, head=7), HeadRef(stack='', layer=3, head=7), None)
    """
    if not isinstance(data, list | tuple) or len(data) < 2:
        return None
    return HeadRef(str(data[2]) if len(data) > 2 else "", int(data[0]), int(data[1]))


def _filled(template: str, values: dict[str, Any]) -> str:
    """
    >>> _filled("%{y} by %{x}: %{z:.1f} %; %{customdata[0]}", {"x": "L0·H1", "y": "det", "z": 12.345, "customdata": ["back"]})
    'det by L0·H1: 12.3 %; back'
    """

    def fill(blank: re.Match[str]) -> str:
        value = values[blank[1]]
        value = value if blank[2] is None else value[int(blank[2])]
        return format(value, blank[3]) if blank[3] else str(value)

    return BLANK.sub(fill, template)
