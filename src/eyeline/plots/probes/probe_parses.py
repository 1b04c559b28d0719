"""A sentence as a probe parses it: arrows from governors to dependents; the arcs of the treebank below where they differ."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.probes.probes import label_of
from eyeline.plots.style import ACCENT, MONO, ORANGE, SANS, Style, finish, plain
from eyeline.plots.word_arcs import arc, centres_of
from eyeline.results.probes.parse import ROOT, Parse
from eyeline.results.run import Run
from eyeline.results.table import Cell
from eyeline.words.percent import percent

#: Points of an arc; pixels of one sentence; characters at both ends of it, and between two words.
POINTS, PANEL, MARGIN, GAP = 25, 210, 3, 2
#: The distance from the middle of a word at which arcs leave it, in characters: the middle is for the arrow that enters.
ASIDE = 0.5


@dataclass(frozen=True)
class Arcs:
    """A tree over words. governors: the index of a word, or -1 for ROOT; gold: those of the treebank, where there is one;
    probabilities and heads: of each arc, for the reader who points at it."""

    caption: str
    words: Sequence[str]
    governors: Sequence[int]
    probabilities: Sequence[float]
    heads: Sequence[str]
    gold: Sequence[int] | None = None


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Some test sentences of the run."""
    every = [_arcs_of(row, style) for row in run.table("probe_parses").rows()]
    figure = _panels(every, style)
    height = 72 + 16 + PANEL * len(every)
    heading = style.words("figure.probe_parses.heading")
    return finish(figure, run, style, heading, height=height, above=16, showlegend=False, margin={"l": 24, "r": 24, "b": 16})


def draw_parse(parse: Parse, style: Style | None = None) -> go.Figure:
    """One parse as arcs over the words: `probe.parse(text)` drawn. An arrow goes from the governor to its dependent."""
    style = style or Style()
    table = parse.table()
    arcs = Arcs(
        f"{label_of(style.words, parse.probe)} · {parse.model}",
        parse.words,
        parse.governors,
        [float(p) for p in table.columns["probability"]],
        [str(heads) for heads in table.columns["heads"]],
    )
    figure = _panels([arcs], style)
    theme = style.theme
    figure.update_layout(
        paper_bgcolor=theme.ground, plot_bgcolor=theme.ground, font={"family": SANS, "size": 12, "color": theme.ink}, showlegend=False,
        height=PANEL + 32, margin={"l": 24, "r": 24, "t": 16, "b": 16}, hovermode="closest",
    )  # fmt: skip
    return figure


def _arcs_of(row: dict[str, Cell], style: Style) -> Arcs:
    words, governors, gold, probabilities, heads = (
        json.loads(str(row[name])) for name in ("words", "governors", "gold", "probabilities", "heads")
    )
    name = label_of(style.words, str(row["probe"]))
    return Arcs(f"{name} · {row['sentence']}", words, governors, probabilities, heads, gold)


def _panels(every: Sequence[Arcs], style: Style) -> go.Figure:
    figure = make_subplots(len(every), 1, vertical_spacing=0.02)
    longest = max(centres_of(arcs.words, GAP, MARGIN)[1] for arcs in every)
    for panel, arcs in enumerate(every):
        for trace in _traces(arcs, style, longest):
            figure.add_trace(trace, row=panel + 1, col=1)
    figure.update_xaxes(visible=False, range=[0, longest], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-0.75, 1.25], fixedrange=True)
    return figure


def _traces(arcs: Arcs, style: Style, width: float) -> Iterable[go.Scatter]:
    theme = style.theme
    centres, length = centres_of(arcs.words, GAP, MARGIN)
    centres = centres + (width - length) / 2
    n = len(arcs.words)
    right = [arcs.gold is None or arcs.gold[word] == arcs.governors[word] for word in range(n)]
    for agrees, colour in ((True, ACCENT), (False, ORANGE)):
        chosen = [word for word in range(n) if right[word] == agrees]
        yield from _tree(arcs.governors, chosen, centres, 1, colour, [_hover(arcs, word) for word in chosen])
    if arcs.gold is not None:
        missed = [word for word in range(n) if not right[word]]
        labels = [f"{style.label('gold')}: {plain(_name(arcs, arcs.gold[word]))} → {plain(arcs.words[word])}" for word in missed]
        yield from _tree(arcs.gold, missed, centres, -1, theme.gold, labels)
    text = {"family": MONO, "size": 13, "color": theme.ink}
    shown = [plain(word) for word in arcs.words]
    yield go.Scatter(x=centres, y=[0] * n, mode="text", text=shown, textfont=text, hoverinfo="skip", showlegend=False)
    font = {"color": theme.quiet, "size": 12}
    caption = {"text": [plain(arcs.caption)], "textposition": "middle right", "textfont": font}
    yield go.Scatter(x=[0], y=[1.18], mode="text", hoverinfo="skip", showlegend=False, **caption)


def _tree(
    governors: Sequence[int], words: Sequence[int], centres: np.ndarray, side: int, colour: str, labels: Sequence[str]
) -> Iterable[go.Scatter]:
    """The arcs of some words over (side 1) or under (-1) the line, and an arrowhead at each dependent."""
    reach = max(1.0, float(np.ptp(centres)))
    xs: list[float | None] = []
    ys: list[float | None] = []
    for word in words:
        x, y = _arc(governors[word], word, centres, reach, side)
        xs.extend([*x, None])
        ys.extend([*y, None])
    yield go.Scatter(x=xs, y=ys, mode="lines", line={"color": colour, "width": 1.8}, hoverinfo="skip", showlegend=False)
    arrow = {"symbol": "triangle-down" if side > 0 else "triangle-up", "size": 10, "color": colour}
    ends = {"x": [float(centres[word]) for word in words], "y": [side * 0.14] * len(words)}
    yield go.Scatter(**ends, mode="markers", marker=arrow, text=list(labels), hoverinfo="text", showlegend=False)


def _arc(governor: int, word: int, centres: np.ndarray, reach: float, side: int) -> tuple[list[float], list[float]]:
    """An arc from the governor to the word, higher the further it reaches; from ROOT, a straight line."""
    end = float(centres[word])
    if governor < 0:
        return [end, end], [side * 1.08, side * 0.14]
    start = float(centres[governor]) + (ASIDE if end > centres[governor] else -ASIDE)
    return arc(start, end, height=0.2 + 0.6 * abs(end - start) / reach, foot=0.14, side=side, points=POINTS)


def _hover(arcs: Arcs, word: int) -> str:
    pair = f"{plain(_name(arcs, arcs.governors[word]))} → {plain(arcs.words[word])}"
    return f"{pair}: {percent(arcs.probabilities[word])}<br>{plain(arcs.heads[word])}"


def _name(arcs: Arcs, index: int) -> str:
    return ROOT if index < 0 else arcs.words[index]


FIGURE = Figure("probe_parses", "probe_parses", "T = argmax_T Σ_w log p(g_T(w) | w)", draw)
