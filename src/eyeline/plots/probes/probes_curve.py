"""The learning curve of each probe: what it finds after so many sentences."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.plots.figure import Figure
from eyeline.plots.probes.probes import kind_of, label_of
from eyeline.plots.style import ACCENT, HEADS, Style, finish
from eyeline.results.run import Run

COLOURS = {"attention": ACCENT, "attention-only": HEADS[2], "distances": HEADS[1], "random init": "#8a93a1"}


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """The share of governors found by the number of training sentences, on a logarithmic axis."""
    words, table = style.words, run.table("probes_curve")
    figure = go.Figure()
    sizes = sorted({int(size) for size in table["sentences"]})
    for name in dict.fromkeys(map(str, table.columns["probe"])):
        line, label = table.where(probe=name), label_of(words, name)
        figure.add_scatter(
            x=line["sentences"],
            y=line["uas"].astype(float),
            mode="lines+markers",
            name=label,
            line={"color": COLOURS.get(kind_of(name), HEADS[0]), "width": 2},
            marker={"size": 7},
            hovertemplate=words("figure.probes_curve.hover", probe=label) + "<extra></extra>",
        )
    baseline = run.table("probes").where(probe="right-branching")
    if len(baseline):
        figure.add_scatter(
            x=[sizes[0], sizes[-1]],
            y=[float(baseline["uas"][0])] * 2,
            mode="lines",
            name=label_of(words, "right-branching"),
            line={"color": style.theme.ink, "width": 1, "dash": "dot"},
            hovertemplate=f"{label_of(words, 'right-branching')}: %{{y:.1f}} %<extra></extra>",
        )
    figure.update_xaxes(title_text=words("figure.probes_curve.axis"), type="log", tickvals=sizes, ticktext=[f"{size:,}" for size in sizes])
    figure.update_yaxes(title_text=words("figure.probes_curve.share"), rangemode="tozero", ticksuffix=" %")
    legend = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
    return finish(figure, run, style, words("figure.probes_curve.heading"), height=460, legend=legend, margin={"b": 110})


FIGURE = Figure("probes_curve", "probes_curve", "UAS(n)", draw)
