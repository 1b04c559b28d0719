"""Heads in a plane, near each other where they attend alike: the colour is the layer, the marker is what a head does."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.clickable_cells import head_data
from eyeline.plots.figure import Figure
from eyeline.plots.stacks import table_of
from eyeline.plots.style import Style, colour_bar, finish, layer_step
from eyeline.results.run import Run

#: Behaviour → marker.
MARKERS = {
    "next": "triangle-right",
    "previous": "triangle-left",
    "broad": "hexagon2",
    "first": "diamond",
    "cls": "square",
    "sep": "x",
    "punctuation": "star",
    "none of these": "circle",
    "not measured": "circle",
}


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """One point for each head. Of several stacks the one that is named, or the first."""
    words, theme = style.words, style.theme
    stack, table = table_of(run, "head_map", stack)
    rows = list(table.rows())
    layers = sorted({int(row["layer"]) for row in rows})
    figure = go.Figure()
    for behaviour, symbol in MARKERS.items():
        chosen = [row for row in rows if row["behaviour"] == behaviour]
        if not chosen:
            continue
        label = words.name("behaviour", behaviour)
        heads = [HeadRef(stack, int(row["layer"]), int(row["head"])) for row in chosen]
        figure.add_scatter(
            x=[row["x"] for row in chosen],
            y=[row["y"] for row in chosen],
            mode="markers",
            marker={
                "color": [head.layer for head in heads], "coloraxis": "coloraxis", "symbol": symbol, "size": 11,
                "line": {"color": theme.outline, "width": 1},
            },
            customdata=[head_data(head) for head in heads],
            text=[f"{head} · {label}" for head in heads],
            hovertemplate="%{text}<extra></extra>",
            legendgroup=behaviour,
            showlegend=False,
        )  # fmt: skip
        # in the legend without the colour of a layer
        figure.add_scatter(
            x=[None], y=[None], mode="markers", marker={"color": theme.quiet, "symbol": symbol, "size": 11}, name=label,
            legendgroup=behaviour,
        )  # fmt: skip
    stress = run.facts.stress.get(f"head_map_{stack}" if stack else "head_map")
    if stress is not None:
        figure.add_annotation(
            text=words("figure.head_map.stress", stress=f"{stress:.2f}"), x=1, y=0, xref="paper", yref="paper", xanchor="right",
            yanchor="bottom", showarrow=False, font={"color": theme.quiet}, bgcolor=theme.ground,
        )  # fmt: skip
    figure.update_xaxes(title_text=words("figure.head_map.axis"))
    figure.update_yaxes(title_text=style.label("divergence"), scaleanchor="x", scaleratio=1)
    bar = colour_bar(words("figure.head_map.colour"), dtick=layer_step(len(layers)))
    axis = {"colorscale": "Viridis", "cmin": layers[0], "cmax": max(layers[-1], layers[0] + 1), "colorbar": bar}
    legend = {"orientation": "h", "title": {"text": words("figure.head_map.marker")}, "x": 0, "y": 1, "yanchor": "bottom"}
    heading = words("figure.head_map.heading")
    if stack:
        heading = words("figure.head_map.heading_stack", stack=words.name("stack", stack))
    return finish(figure, run, style, heading, height=620, above=56, coloraxis=axis, legend=legend, showlegend=True)


FIGURE = Figure("head_map", "head_map", "stress = √( Σ (d − D)² / Σ d² )", draw, clickable="points")
