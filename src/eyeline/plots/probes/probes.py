"""What the probes find: a bar each, its interval, and the paper's value beside it."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.plots.style import ACCENT, GROUND, HAIRLINE, INK, QUIET, styled
from eyeline.results.run import Run

#: Published by Clark et al. 2019, table 3: BERT-base, Penn Treebank (WSJ), GloVe.
PAPER = {"right-branching": 26.0, "distances": 58.0, "attention-only": 61.0, "attention": 77.0, "random init": 30.0}
PAPER_NAME = "BERT-base on the Penn Treebank (Clark et al. 2019)"


def kind_of(name: str) -> str:
    """Which of the paper's rows a probe is.

    >>> kind_of("attention + GloVe"), kind_of("attention + GloVe, random init"), kind_of("distances + model embeddings")
    ('attention', 'random init', 'distances')
    """
    return "random init" if name.endswith("random init") else name.partition(" + ")[0]


def colour_of(name: str) -> str:
    """Attention in the accent, baselines in grey."""
    return {"attention": ACCENT, "attention-only": ACCENT}.get(kind_of(name), QUIET)


def probes(run: Run) -> go.Figure:
    """The share of heads found, in percent, without punctuation."""
    table = run.table("probes")
    names = list(map(str, table.columns["probe"]))
    uas, low, high = (table[column].astype(float) for column in ("uas", "low", "high"))
    with_punctuation = table["uas_with_punctuation"].astype(float)
    figure = go.Figure(
        go.Bar(
            y=names,
            x=uas,
            orientation="h",
            width=0.55,
            marker={"color": [colour_of(name) for name in names]},
            error_x={"type": "data", "array": high - uas, "arrayminus": uas - low, "color": INK, "thickness": 1.5, "width": 5},
            text=[f"{value:.1f} %" for value in uas],
            textposition="inside",
            insidetextanchor="start",
            textangle=0,
            textfont={"color": GROUND},
            customdata=list(zip(low, high, with_punctuation, table["n"].astype(int), strict=True)),
            hovertemplate=(
                "%{y}: %{x:.1f} %, 95 % between %{customdata[0]:.1f} and %{customdata[1]:.1f}"
                "<br>with punctuation %{customdata[2]:.1f} %; %{customdata[3]:,} words<extra></extra>"
            ),
            name=str(run.facts.model.name),
            showlegend=False,
        )
    )
    published = [(name, PAPER[kind_of(name)]) for name in names if kind_of(name) in PAPER]
    figure.add_scatter(
        x=[value for _, value in published],
        y=[name for name, _ in published],
        mode="markers",
        marker={"symbol": "line-ns", "size": 26, "line": {"width": 2.5, "color": "#ea580c"}},
        name=PAPER_NAME,
        hovertemplate=f"{PAPER_NAME}: %{{x:.0f}} %<extra></extra>",
    )
    figure.update_xaxes(title_text="words whose head is found (%), without punctuation", range=[0, 100], ticksuffix=" %")
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True, linecolor=HAIRLINE)
    legend = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "font": {"color": QUIET}}
    return styled(
        figure, run, "How much grammar all heads know together", height=420, legend=legend, margin={"l": 16, "r": 24, "t": 96, "b": 104}
    )
