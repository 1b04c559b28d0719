"""The learning curve of each probe: what it finds after so many sentences."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.plots.probes.probes import kind_of
from eyeline.plots.style import ACCENT, HEADS, INK, QUIET, styled
from eyeline.results.run import Run

COLOURS = {"attention": ACCENT, "attention-only": HEADS[2], "distances": HEADS[1], "random init": QUIET}


def probes_curve(run: Run) -> go.Figure:
    """The share of heads found by the number of training sentences, on a logarithmic axis."""
    table = run.table("probes_curve")
    figure = go.Figure()
    sizes = sorted({int(size) for size in table["sentences"]})
    for name in dict.fromkeys(map(str, table.columns["probe"])):
        line = table.where(probe=name)
        figure.add_scatter(
            x=line["sentences"],
            y=line["uas"].astype(float),
            mode="lines+markers",
            name=name,
            line={"color": COLOURS.get(kind_of(name), HEADS[0]), "width": 2},
            marker={"size": 7},
            hovertemplate=f"{name}, %{{x:,}} sentences: %{{y:.1f}} %<extra></extra>",
        )
    guess = run.table("probes").where(probe="right-branching")
    if len(guess):
        figure.add_scatter(
            x=[sizes[0], sizes[-1]],
            y=[float(guess["uas"][0])] * 2,
            mode="lines",
            name="right-branching",
            line={"color": INK, "width": 1, "dash": "dot"},
            hovertemplate="right-branching: %{y:.1f} %<extra></extra>",
        )
    figure.update_xaxes(title_text="training sentences", type="log", tickvals=sizes, ticktext=[f"{size:,}" for size in sizes])
    figure.update_yaxes(title_text="words whose head is found (%)", rangemode="tozero", ticksuffix=" %")
    return styled(figure, run, "What the probes find after so many sentences", height=440, legend={"x": 1.02, "y": 1})
