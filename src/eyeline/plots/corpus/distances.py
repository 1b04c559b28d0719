"""The matrix of distances between heads, ordered so that similar heads stand together."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from eyeline.plots.figures import tables_of
from eyeline.plots.style import styled
from eyeline.results.run import Run

#: Above this many heads only some of the names are written; hover gives them all.
NAMED = 72


def distances(run: Run, stack: str | None = None) -> go.Figure:
    """A heatmap, dark where heads are alike. Of several stacks the one that is named, or the first."""
    tables = tables_of(run, "distances")
    stack = next(iter(tables)) if stack is None else stack
    table = tables[stack]
    names = list(map(str, table.columns["head"]))
    square = np.array([table[name] for name in names], dtype=float)  # [head, head]
    order = by_cluster(square)
    ordered = [names[i] for i in order]
    figure = go.Figure(
        go.Heatmap(
            z=square[np.ix_(order, order)].round(5),
            x=ordered,
            y=ordered,
            colorscale="Blues",
            reversescale=True,
            zmin=0,
            colorbar={"title": {"text": "divergence<br>(nats)"}, "thickness": 14, "outlinewidth": 0},
            hovertemplate="%{y} and %{x}: %{z:.3f} nats<extra></extra>",
        )
    )
    step = -(-len(names) // NAMED)
    ticks = {"tickmode": "array", "tickvals": ordered[::step], "tickfont": {"size": 9}, "showgrid": False}
    figure.update_xaxes(title_text="head, similar ones together", tickangle=-90, constrain="domain", **ticks)
    figure.update_yaxes(title_text="head", autorange="reversed", scaleanchor="x", constrain="domain", **ticks)
    title = f"How far {stack + ' ' if stack else ''}heads lie apart: dark blocks attend alike"
    return styled(figure, run, title, height=860, margin={"l": 80, "r": 24, "t": 96, "b": 80})


def by_cluster(square: np.ndarray) -> list[int]:
    """An order of the heads in which similar ones are neighbours: the leaves of an average-linkage tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(square) < 3:
        return list(range(len(square)))
    near = (square + square.T) / 2
    np.fill_diagonal(near, 0)
    return [int(i) for i in leaves_list(linkage(squareform(near, checks=False), "average", optimal_ordering=True))]
