"""The chosen head, lit in every panel of a figure: a ring around each of its points and cells, or a frame around its row."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.clickable_cells import head_from
from eyeline.plots.style import Theme

#: The name of the traces with rings and of frames, by which tests find them.
RING = "chosen head"
#: Pixels by which a ring is wider than its dot; widths of its two lines, the page colour below and the ink above, to show on any colour.
MARGIN, BELOW, ABOVE = 8, 5, 2


def with_lit_head(figure: go.Figure, head: HeadRef, theme: Theme) -> go.Figure:
    """A copy of a figure with rings around the points of one head; the figure itself where it has none."""
    copy, n_traces = go.Figure(figure), len(figure.data)
    for trace in figure.data:
        if not isinstance(trace, go.Scatter) or trace.customdata is None:
            continue
        indices = [index for index, data in enumerate(trace.customdata) if np.ndim(data) == 1 and head_from(list(data)) == head]
        for width, colour in ((BELOW, theme.ground), (ABOVE, theme.ink)) if indices else ():
            _add_rings(copy, trace, indices, width, colour)
    copy.data = (*copy.data[n_traces:], *copy.data[:n_traces])  # below the dots, so that no other dot is hidden
    return copy if len(copy.data) > n_traces else figure


def with_lit_row(figure: go.Figure, label: str, theme: Theme) -> go.Figure:
    """A copy of a figure of heads by heads, with frames around the row and the column of one head; the figure itself where it has none."""
    grid = next((trace for trace in figure.data if isinstance(trace, go.Heatmap)), None)
    if grid is None or grid.y is None or label not in list(grid.y):
        return figure
    copy, index, end = go.Figure(figure), list(grid.y).index(label), len(grid.y) - 0.5
    band, whole = (index - 0.5, index + 0.5), (-0.5, end)
    for width, colour in ((BELOW, theme.ground), (ABOVE, theme.ink)):
        for (x0, x1), (y0, y1) in ((whole, band), (band, whole)):
            copy.add_shape(type="rect", name=RING, x0=x0, x1=x1, y0=y0, y1=y1, line={"color": colour, "width": width / 2})
    return copy.add_annotation(
        text=label, xref="x domain", x=1, y=index, xanchor="left", xshift=4, showarrow=False, font={"color": theme.ink}
    )


def _add_rings(figure: go.Figure, trace: go.Scatter, indices: list[int], width: int, colour: str) -> None:
    is_cell = trace.marker.opacity == 0
    size = trace.marker.size if isinstance(trace.marker.size, int | float) else 8
    figure.add_trace(
        go.Scatter(
            x=[trace.x[index] for index in indices],
            y=[trace.y[index] for index in indices],
            mode="markers",
            name=RING,
            marker={
                "symbol": "square-open" if is_cell else "circle-open",
                "size": size if is_cell else size + MARGIN,
                "color": colour,
                "line": {"color": colour, "width": width},
            },
            hoverinfo="skip",
            cliponaxis=False,
            showlegend=False,
            visible=trace.visible,
            xaxis=trace.xaxis,
            yaxis=trace.yaxis,
        )
    )
