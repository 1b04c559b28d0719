"""Heads that can be clicked in a figure: points that carry a head, and grids, where every cell gets an invisible point for its frame."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from eyeline.heads import HeadRef


def with_clickable_cells(figure: go.Figure) -> go.Figure:
    """The figure, with invisible points over the cells of its heatmaps, whose texts are labels of heads.

    A click goes to the cell itself, which may be smaller than any point; the browser finds by the points where to light a head.
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
    points: dict[str, list[Any]] = {"x": [], "y": [], "customdata": []}
    for i, row in enumerate(heatmap.y):
        for j, column in enumerate(heatmap.x):
            value = heatmap.z[i][j]
            if value is not None and value == value:
                points["x"].append(column)
                points["y"].append(row)
                points["customdata"].append(head_data(HeadRef.parse(heatmap.text[i][j])))
    return go.Scatter(
        **points, mode="markers", hoverinfo="skip", showlegend=False, visible=heatmap.visible, xaxis=heatmap.xaxis, yaxis=heatmap.yaxis,
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
