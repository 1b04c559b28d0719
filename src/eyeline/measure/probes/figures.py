"""Figures of probes: how much they find, the parses of sentences, the heads behind a parse, which heads they use, and how they learn."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import ARC_DIRECTIONS
from eyeline.measure.probes.options import ProbeFacts
from eyeline.measure.probes.result import ROOT, Parse
from eyeline.measure.runs.figure import (
    ACCENT,
    GROUND,
    HEADING,
    MONO,
    ORANGE,
    SANS,
    SERIES,
    Figure,
    Style,
    arc,
    centres_of,
    colour_bar,
    finish,
    grid_axes,
    head_grid,
    plain,
)
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell
from eyeline.words import Words, percent

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

    >>> epochs_text({"epochs": 12.0, "converged": 1.0}), epochs_text({"epochs": 99.5, "converged": 0.5}), epochs_text({"epochs": math.nan})
    ('12', '≥ 99.5', '–')
    """
    epochs = float(row["epochs"])
    if math.isnan(epochs):
        return "–"
    return f"{'' if row['converged'] == 1 else '≥ '}{epochs:.1f}".removesuffix(".0")


def draw_probes(run: Run, style: Style, stack: str) -> go.Figure:
    """The share of words whose governor is found, in percent, without punctuation: a bar for each probe, its interval, and the value of the
    paper beside it, unless the sentences are made up. Attention in the accent colour, baselines in grey."""
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


PROBES_FIGURE = Figure(
    "probes",
    "probes",
    "p(g | w) = softmax_g Σ_h [ u_h · α_h(w, g) + v_h · α_h(g, w) ],  UAS = 100 · |{w : argmax_g p(g | w) = g(w)}| / |{w}|",
    draw_probes,
)


# ---- Parses


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


def draw_probe_parses(run: Run, style: Style, stack: str) -> go.Figure:
    """Some test sentences of the run as its probe parses them; the arcs of the treebank are below where they differ."""
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


PROBE_PARSES_FIGURE = Figure("probe_parses", "probe_parses", "T = argmax_T Σ_w log p(g_T(w) | w)", draw_probe_parses)


# ---- A parse with the heads behind it


#: Pixels of one layer in a grid of heads, of the lowest grid, and between the arcs and the grids: the menu and the titles.
ROW, LOWEST, BETWEEN_PARSE_AND_HEADS = 18, 90, 80


def draw_parse_heads(parse: Parse, pair: tuple[str | int, str | int] | None = None, style: Style | None = None) -> go.Figure:
    """The arcs of a parse and, under them, a grid of heads for each direction: attention · weight for one pair of words.

    pair   a dependent and a governor, by text or by index; unless given, the first word and its governor. A menu on the page chooses
           among this pair and every word with its governor in the tree
    """
    style = style or Style()
    words = style.words
    given = (0, parse.governors[0]) if pair is None else parse.indices(*pair)
    pairs = list(dict.fromkeys([given, *enumerate(parse.governors)]))
    layers, heads = (sorted({getattr(head, name) for head in parse.heads}) for name in ("layer", "head"))
    height = max(LOWEST, ROW * len(layers))
    whole = PANEL + BETWEEN_PARSE_AND_HEADS + height
    figure = make_subplots(2, 2, specs=[[{"colspan": 2}, None], [{}, {}]], horizontal_spacing=0.08)
    arcs = draw_parse(parse, style)
    for trace in arcs.data:
        figure.add_trace(trace, row=1, col=1)
    figure.update_xaxes(arcs.layout.xaxis, row=1, col=1)
    figure.update_yaxes(arcs.layout.yaxis, row=1, col=1)
    figure.update_xaxes(domain=[0, 1], row=1, col=1)
    figure.update_yaxes(domain=[(BETWEEN_PARSE_AND_HEADS + height) / whole, 1], row=1, col=1)
    grids = {each: _grids(parse, each, layers, heads) for each in pairs}
    reach = max(float(np.nanmax(np.abs(grid))) for grid in grids.values()) or 1.0
    for column, grid in enumerate(grids[given], 1):
        figure.add_trace(
            go.Heatmap(
                z=grid,
                x=heads,
                y=layers,
                coloraxis="coloraxis",
                hovertemplate="L%{y}·H%{x}: %{z:+.3f}<extra></extra>",
                name=f"heads-{column}",
            ),
            row=2,
            col=column,
        )
        figure.update_xaxes(title_text=style.label("head"), dtick=1, row=2, col=column)
        figure.update_yaxes(title_text=style.label("layer") if column == 1 else "", dtick=1, autorange="reversed", row=2, col=column)
        figure.update_yaxes(domain=[0, height / whole], row=2, col=column)
        direction = words.name("direction", ARC_DIRECTIONS[column - 1])
        figure.add_annotation(
            text=direction, x=(0.0, 0.54)[column - 1], y=height / whole, xref="paper", yref="paper", xanchor="left", yanchor="bottom",
            showarrow=False,
        )  # fmt: skip
    n_arcs = len(arcs.data)
    buttons = [
        {
            "label": plain(_label(parse, each)),
            "method": "restyle",
            "args": [{"z": [grid.tolist() for grid in grids[each]]}, [n_arcs, n_arcs + 1]],
        }
        for each in pairs
    ]
    theme = style.theme
    top = (height + BETWEEN_PARSE_AND_HEADS - 8) / whole
    bar = {"len": height / whole, "y": 0, "yanchor": "bottom"}
    figure.update_layout(
        paper_bgcolor=theme.ground, plot_bgcolor=theme.ground, font={"family": SANS, "size": 12, "color": theme.ink}, showlegend=False,
        height=whole + 72, margin={"l": 56, "r": 24, "t": 16, "b": 56}, hovermode="closest",
        coloraxis={"colorscale": theme.signed, "cmin": -reach, "cmax": reach, "colorbar": bar},
        updatemenus=[{"buttons": buttons, "x": 0, "xanchor": "left", "y": top, "yanchor": "top", "direction": "down", "active": 0}],
    )  # fmt: skip
    figure.add_annotation(
        text=words("figure.label.parse_heads"), x=1, y=top - 6 / whole, xref="paper", yref="paper", xanchor="right", yanchor="top",
        showarrow=False, font={"color": theme.quiet},
    )  # fmt: skip
    return figure


def _label(parse: Parse, pair: tuple[int, int]) -> str:
    """An arrow from the governor to its dependent, as in the arcs."""
    dependent, governor = pair
    return f"{ROOT if governor < 0 else parse.words[governor]} → {parse.words[dependent]}"


def _grids(parse: Parse, pair: tuple[int, int], layers: list[int], heads: list[int]) -> np.ndarray:
    """What each head adds: [direction, layer, head]; nan where the model has no such head."""
    grids = np.full((len(ARC_DIRECTIONS), len(layers), len(heads)), np.nan)
    for weight in parse.pair(*pair):
        at = ARC_DIRECTIONS.index(weight.direction), layers.index(weight.head.layer), heads.index(weight.head.head)
        grids[at] = weight.contribution
    return grids.round(4)


# ---- Which heads the probes use


#: Pixels between two rows of panels, above the first and below the last.
BETWEEN_PANELS, ABOVE, BELOW = 96, 48, 56


def draw_probe_weights(run: Run, style: Style, stack: str) -> go.Figure:
    """A row of panels for each probe, a panel for each direction; each probe has its own scale, symmetric about zero."""
    words, table = style.words, run.table("probe_weights")
    probes = list(dict.fromkeys(map(str, table.columns["probe"])))
    directions = {name: words.name("direction", name) for name in dict.fromkeys(map(str, table.columns["direction"]))}
    titles = [
        words("figure.probe_weights.panel", probe=label_of(words, probe), direction=label)
        for probe in probes
        for label in directions.values()
    ]
    panel = max(200, min(560, 20 * len(set(table["layer"].tolist())) + 40))
    inner = len(probes) * panel + (len(probes) - 1) * BETWEEN_PANELS
    spacing = BETWEEN_PANELS / inner if len(probes) > 1 else 0
    figure = make_subplots(len(probes), len(directions), subplot_titles=titles, vertical_spacing=spacing, horizontal_spacing=0.07)
    figure.update_annotations(font={"size": 14}, yshift=4)
    for row, probe in enumerate(probes):
        part = table.where(probe=probe)
        largest = float(np.abs(part["weight"].astype(float)).max()) or 1.0
        middle = 1 - (row * (panel + BETWEEN_PANELS) + panel / 2) / inner
        for column, (direction, label) in enumerate(directions.items()):
            grid = head_grid(
                part.where(direction=direction), "weight", style, hover=words("figure.probe_weights.hover", direction=label),
                zmin=-largest, zmax=largest, colorscale=style.theme.signed, showscale=column == 0,
                colorbar=colour_bar(style.label("weight"), len=panel / inner, y=middle),
            )  # fmt: skip
            figure.add_trace(grid, row=row + 1, col=column + 1)
    figure.update_yaxes(title_text=style.label("layer"), col=1)
    grid_axes(figure, style, table)
    return finish(figure, run, style, words("figure.probe_weights.heading"), height=inner + HEADING + ABOVE + BELOW, above=ABOVE)


PROBE_WEIGHTS_FIGURE = Figure(
    "probe_weights",
    "probe_weights",
    "p(g | w) = softmax_g Σ_h [ u_h · α_h(w, g) + v_h · α_h(g, w) ]",
    draw_probe_weights,
    clickable="cells",
)


# ---- Learning curves


COLOURS = {"attention": ACCENT, "attention-only": SERIES[2], "distances": SERIES[1], "random init": "#8a93a1"}


def draw_probes_learning(run: Run, style: Style, stack: str) -> go.Figure:
    """The accuracy on held-out sentences by the number of sentences seen, on a logarithmic axis: a line for each training, a ring at the
    epoch whose weights were kept."""
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


PROBES_LEARNING_FIGURE = Figure("probes_learning", "probes_learning", "UAS(n)", draw_probes_learning)


# ---- Notes on trained probes


ENGLISH = Words()

#: How the name of a corpus begins if the probes were trained on one half of it.
ONE_HALF = "one half of "


def training_notes(run: Run, words: Words = ENGLISH) -> list[str]:
    """What the probes of a run were trained on, how ROOT is read, and when training ended; nothing of other runs, nor of runs from before
    these facts were kept."""
    if not isinstance(facts := run.facts, ProbeFacts):
        return []
    train, vectors = facts.train, facts.words
    if train is None or vectors is None or train.held_out is None:
        return []
    counts, epochs = train.counts, facts.options.epochs
    corpus = train.name
    if corpus.startswith(ONE_HALF):
        corpus = words("count.one_half", corpus=corpus.removeprefix(ONE_HALF))
    root = words("report.training.root_tokens", n=train.special_tokens) if train.special_tokens else words("report.training.root_constant")
    lines = [
        words(
            "report.training.trained", sentences=words.count("sentences", counts["sentences"]), corpus=corpus,
            left_out=f"{counts['too_long'] + counts['unreadable']:,}", no_tree=f"{counts['no_tree']:,}",
            again=f"{train.seen_again:,}", tests=words.count("sentences", run.facts.counts["sentences"]),
        ),
        words(
            "report.training.words", source=words.name("vectors", vectors.source), dims=vectors.dims,
            covered=f"{100 * vectors.covered:.1f}", root=root,
        ),
    ]  # fmt: skip
    if not train.held_out:
        return [*lines, words("report.training.one_sentence", epochs=f"{epochs:,}")]
    held_out = words.count("sentences", train.held_out)
    lines.append(words("report.training.held_out", held_out=held_out, gain=f"{100 * train.gain:g}", patience=train.patience))
    rows = list(run.table("probes").rows())
    unfinished = [label_of(words, str(row["probe"])) for row in rows if not math.isnan(share := float(row["converged"])) and share < 1]
    if unfinished:
        lines.append(words("report.training.unfinished", epochs=f"{epochs:,}", probes=words.joined(unfinished)))
    return lines
