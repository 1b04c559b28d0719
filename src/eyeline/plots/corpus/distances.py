"""The matrix of distances between heads, ordered so that similar heads stand together."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from eyeline.plots.figure import Figure
from eyeline.plots.stacks import table_of
from eyeline.plots.style import Style, colour_bar, finish
from eyeline.results.run import Run

#: With more heads than this, only some of the names are written, so that none overlap on a phone; hovering gives them all.
MAX_NAMES = 36


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """A heatmap, strongest in colour where heads are alike. Of several stacks the one that is named, or the first."""
    words = style.words
    stack, table = table_of(run, "distances", stack)
    names = list(map(str, table.columns["head"]))
    square = np.array([table[name] for name in names], dtype=float)  # [head, head]
    order = by_cluster(square)
    ordered = [names[i] for i in order]
    figure = go.Figure(
        go.Heatmap(
            z=square[np.ix_(order, order)].round(5),
            x=ordered,
            y=ordered,
            colorscale=style.theme.sequential,
            reversescale=True,
            zmin=0,
            colorbar=colour_bar(style.label("divergence")),
            hovertemplate=words("figure.distances.hover") + "<extra></extra>",
        )
    )
    step = -(-len(names) // MAX_NAMES)
    ticks = {"tickmode": "array", "tickvals": ordered[::step], "tickfont": {"size": 9}, "showgrid": False}
    figure.update_xaxes(title_text=words("figure.distances.axis"), tickangle=-90, constrain="domain", **ticks)
    figure.update_yaxes(title_text=style.label("head"), autorange="reversed", scaleanchor="x", constrain="domain", **ticks)
    heading = words("figure.distances.heading")
    if stack:
        heading = words("figure.distances.heading_stack", stack=words.name("stack", stack))
    return finish(figure, run, style, heading, height=860, margin={"l": 80, "b": 80})


def by_cluster(square: np.ndarray) -> list[int]:
    """An order of the heads in which similar ones are neighbours: the leaves of an average-linkage tree."""
    from scipy.cluster.hierarchy import leaves_list, linkage
    from scipy.spatial.distance import squareform

    if len(square) < 3:
        return list(range(len(square)))
    symmetric = (square + square.T) / 2
    np.fill_diagonal(symmetric, 0)
    return [int(i) for i in leaves_list(linkage(squareform(symmetric, checks=False), "average", optimal_ordering=True))]


FIGURE = Figure(
    "distances",
    "distances",
    "D(h, h′) = ⟨ JS( α_h(q, ·), α_{h′}(q, ·) ) ⟩,  JS(p, r) = H((p + r) / 2) − H(p) / 2 − H(r) / 2",
    draw,
)
