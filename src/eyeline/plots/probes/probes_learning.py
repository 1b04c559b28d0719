"""The learning curve of each probe: its accuracy on held-out sentences by the number of training sentences seen."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from eyeline.plots.figure import Figure
from eyeline.plots.probes.probes import kind_of, label_of
from eyeline.plots.style import ACCENT, SERIES, Style, finish
from eyeline.results.run import Run

COLOURS = {"attention": ACCENT, "attention-only": SERIES[2], "distances": SERIES[1], "random init": "#8a93a1"}


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """A line for each training, by the number of sentences seen, on a logarithmic axis; a ring at the epoch whose weights were kept."""
    words, table = style.words, run.table("probes_learning")
    figure = go.Figure()
    for name in dict.fromkeys(map(str, table.columns["probe"])):
        label, colour = label_of(words, name), COLOURS.get(kind_of(name), SERIES[0])
        for seed in dict.fromkeys(table.where(probe=name)["seed"].tolist()):
            line = table.where(probe=name, seed=seed)
            look = {"line": {"color": colour, "width": 2}, "marker": {"size": 13, "symbol": "circle-open", "line": {"width": 2.5}}}
            for part, mode in ((line, "lines"), (line.where(kept=1), "markers")):
                figure.add_scatter(
                    x=part["sentences"], y=part["held_out_uas"].astype(float), mode=mode, name=label, legendgroup=label,
                    showlegend=seed == 0 and mode == "lines", **look,
                    customdata=list(zip(part["epoch"], part["loss"], part["held_out_loss"], strict=True)),
                    hovertemplate=words("figure.probes_learning.hover", probe=label) + "<extra></extra>",
                )  # fmt: skip
    figure.add_vline(x=one_epoch(run), line={"color": style.theme.quiet, "width": 1, "dash": "dot"})
    figure.add_annotation(
        x=math.log10(one_epoch(run)), y=1, yref="paper", text=words("figure.probes_learning.one_epoch"), showarrow=False, xanchor="left",
        yanchor="bottom", font={"color": style.theme.quiet},
    )  # fmt: skip
    figure.update_xaxes(title_text=words("figure.probes_learning.axis"), type="log", dtick=1)
    figure.update_yaxes(title_text=words("figure.probes_learning.share"), rangemode="tozero", ticksuffix=" %")
    legend = {"orientation": "h", "x": 0, "y": -0.2, "yanchor": "top"}
    return finish(figure, run, style, words("figure.probes_learning.heading"), height=460, legend=legend, margin={"b": 110})


def one_epoch(run: Run) -> int:
    """How many sentences are seen when all have been seen once, as in the paper."""
    return int(run.table("probes_learning").where(epoch=1.0)["sentences"][0])


FIGURE = Figure("probes_learning", "probes_learning", "UAS(n)", draw)
