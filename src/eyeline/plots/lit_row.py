"""The chosen head in a figure of heads by heads: a frame around its row and its column. The app lights points and cells in the browser."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.plots.style import Theme

#: Widths of the two lines of a frame in pixels: the page colour below and the ink above, to show on any colour.
BELOW, ABOVE = 2.5, 1


def with_lit_row(figure: go.Figure, label: str, theme: Theme) -> go.Figure:
    """A copy of a figure of heads by heads, with frames around the row and the column of one head; the figure itself where it has none."""
    grid = next((trace for trace in figure.data if isinstance(trace, go.Heatmap)), None)
    if grid is None or grid.y is None or label not in list(grid.y):
        return figure
    copy, index, end = go.Figure(figure), list(grid.y).index(label), len(grid.y) - 0.5
    band, whole = (index - 0.5, index + 0.5), (-0.5, end)
    for width, colour in ((BELOW, theme.ground), (ABOVE, theme.ink)):
        for (x0, x1), (y0, y1) in ((whole, band), (band, whole)):
            copy.add_shape(type="rect", x0=x0, x1=x1, y0=y0, y1=y1, line={"color": colour, "width": width})
    return copy.add_annotation(
        text=label, xref="x domain", x=1, y=index, xanchor="left", xshift=4, showarrow=False, font={"color": theme.ink}
    )
