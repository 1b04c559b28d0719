"""What the probes find: a bar for each, its interval, and the value of the paper beside it, unless the sentences are made up."""

from __future__ import annotations

import math
from collections.abc import Mapping

import plotly.graph_objects as go

from eyeline.plots.figure import Figure
from eyeline.plots.style import ACCENT, GROUND, ORANGE, Style, finish
from eyeline.results.run import Run
from eyeline.results.table import Cell
from eyeline.words import Words

#: Published by Clark et al. 2019, table 3: BERT-base, Penn Treebank (WSJ), GloVe.
PAPER = {"right-branching": 26.0, "distances": 58.0, "attention-only": 61.0, "attention": 77.0, "random init": 30.0}


def kind_of(name: str) -> str:
    """Which of the paper's rows a probe is.

    >>> kind_of("attention + GloVe"), kind_of("attention + GloVe, random init"), kind_of("distances + model embeddings")
    ('attention', 'random init', 'distances')
    """
    return "random init" if name.endswith("random init") else name.partition(" + ")[0]


def label_of(words: Words, name: str) -> str:
    """A probe as the reader sees it, the same in tables, figures and menus.

    >>> label_of(Words(), "distances + model embeddings")
    'distances and words, no attention'
    """
    return words.name("probe", kind_of(name))


def epochs_text(row: Mapping[str, Cell]) -> str:
    """How often a probe saw its training sentences, on average over seeds; with ≥ where a training was ended by the limit.

    >>> epochs_text({"epochs": 12.0, "converged": 1.0}), epochs_text({"epochs": 99.5, "converged": 0.5}), epochs_text({})
    ('12', '≥ 99.5', '–')
    """
    epochs = float(row.get("epochs", math.nan))
    if math.isnan(epochs):
        return "–"
    return f"{'' if row['converged'] == 1 else '≥ '}{epochs:.1f}".removesuffix(".0")


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """The share of words whose governor is found, in percent, without punctuation. Attention in the accent colour, baselines in grey."""
    words, theme, table = style.words, style.theme, run.table("probes")
    kinds = [kind_of(str(name)) for name in table.columns["probe"]]
    names = [label_of(words, kind) for kind in kinds]
    uas, low, high = (table[column].astype(float) for column in ("uas", "low", "high"))
    with_punctuation = table["uas_with_punctuation"].astype(float)
    figure = go.Figure(
        go.Bar(
            y=names,
            x=uas,
            orientation="h",
            width=0.55,
            marker={"color": [ACCENT if kind in ("attention", "attention-only") else "#5b6472" for kind in kinds]},
            error_x={"type": "data", "array": high - uas, "arrayminus": uas - low, "color": theme.ink, "thickness": 1.5, "width": 5},
            text=[style.label("percent", value=f"{value:.1f}") for value in uas],
            textposition="inside",
            insidetextanchor="start",
            textangle=0,
            textfont={"color": GROUND},
            customdata=list(zip(low, high, with_punctuation, table["n"].astype(int), strict=True)),
            hovertemplate=words("figure.probes.hover") + "<extra></extra>",
            showlegend=False,
        )
    )
    synthetic = run.facts.corpus.synthetic
    published = [(name, PAPER[kind]) for name, kind in zip(names, kinds, strict=True) if kind in PAPER]
    if synthetic:
        note = {"text": words("figure.probes.synthetic"), "showarrow": False, "xref": "paper", "yref": "paper", "x": 0, "xanchor": "left"}
        figure.add_annotation(**note, y=-0.24, yanchor="top", align="left", font={"color": theme.quiet})
    else:
        figure.add_scatter(
            x=[value for _, value in published],
            y=[name for name, _ in published],
            mode="markers",
            marker={"symbol": "line-ns", "size": 26, "line": {"width": 2.5, "color": ORANGE}},
            name=words("figure.probes.paper"),
            hovertemplate=words("figure.probes.paper_hover") + "<extra></extra>",
        )
    figure.update_xaxes(title_text=words("figure.probes.axis"), range=[0, 100], ticksuffix=" %")
    figure.update_yaxes(autorange="reversed", showgrid=False, linecolor=theme.hairline)
    legend = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "font": {"color": theme.quiet}}
    return finish(figure, run, style, words("figure.probes.heading"), height=420, legend=legend, margin={"l": 16, "b": 104})


FIGURE = Figure(
    "probes",
    "probes",
    "p(g | w) = softmax_g Σ_h [ u_h · α_h(w, g) + v_h · α_h(g, w) ],  UAS = 100 · |{w : argmax_g p(g | w) = g(w)}| / |{w}|",
    draw,
)
