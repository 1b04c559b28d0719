"""The pruning curve: the loss, and the answers that are still the same, while more and more heads are ablated."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.style import ACCENT, Style, finish
from eyeline.results.run import Run

DASHES = ("dash", "dot", "dashdot")


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Two panels over the share of heads that are gone: the loss, and the share of answers that stay."""
    words, table = style.words, run.table("pruning")
    panels = ("loss", "kept")
    figure = make_subplots(rows=1, cols=2, subplot_titles=[words(f"figure.pruning.{panel}") for panel in panels], horizontal_spacing=0.12)
    for number, order in enumerate(dict.fromkeys(map(str, table.columns["order"]))):
        line = table.where(order=order)
        is_random = order.startswith("random")
        label = words("figure.pruning.random", n=int(order.split()[1]) + 1) if is_random else words("figure.pruning.least")
        for column, panel in enumerate(panels, 1):
            figure.add_scatter(
                x=line["share"].astype(float) * 100,
                y=line[panel].astype(float) * (100 if panel == "kept" else 1),
                mode="lines+markers",
                name=label,
                legendgroup=order,
                showlegend=column == 1,
                line={"color": "#8a93a1" if is_random else ACCENT, "width": 2, "dash": DASHES[number % 3] if is_random else "solid"},
                marker={"size": 6},
                hovertemplate=words(f"figure.pruning.hover_{panel}", order=label) + "<extra></extra>",
                row=1,
                col=column,
            )
    figure.update_xaxes(title_text=words("figure.pruning.axis"), ticksuffix=" %")
    figure.update_yaxes(title_text=style.label("nats"), rangemode="tozero", col=1)
    figure.update_yaxes(ticksuffix=" %", rangemode="tozero", col=2)
    legend = {"orientation": "h", "x": 0, "y": -0.22, "yanchor": "top"}
    return finish(figure, run, style, words("figure.pruning.heading"), height=440, above=48, legend=legend, margin={"b": 110})


FIGURE = Figure("pruning", "pruning", "L( h_1, …, h_k ablated ),  k = 0, …, n", draw)
