"""Figures of grammar: how often each head finds each relation, and the sentences on which the best heads are most sure."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.measure.runs.figure import MONO, Figure, Style, arc, buttons, centres_of, colour_bar, finish, plain
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, heads_of_rows


def draw_syntax(run: Run, style: Style, stack: str) -> go.Figure:
    """A heatmap of accuracies, the better of the two directions for each head; rings mark the best head of each relation."""
    words, theme = style.words, style.theme
    table, best = run.table("syntax_heads"), run.table("syntax")
    relations = list(map(str, best.columns["relation"]))
    heads = sorted(set(heads_of_rows(table)))
    rows = [_label(style, name) for name in relations]
    row_of, column_of = {name: i for i, name in enumerate(relations)}, {head: i for i, head in enumerate(heads)}
    accuracy = np.full((len(relations), len(heads)), -1.0)  # [relation, head]
    direction = np.full(accuracy.shape, "", dtype=object)
    for row in table.rows():
        cell = row_of[str(row["relation"])], column_of[HeadRef.of_row(row)]
        if float(row["accuracy"]) > accuracy[cell]:
            accuracy[cell], direction[cell] = float(row["accuracy"]), words.name("direction", str(row["direction"]))
    names = [str(head) for head in heads]
    baseline = best["baseline"].astype(float)
    figure = go.Figure(
        go.Heatmap(
            z=accuracy.round(2),
            x=names,
            y=rows,
            text=[names] * len(relations),
            customdata=np.stack([direction, np.broadcast_to(baseline[:, None].round(1), accuracy.shape)], -1),
            colorscale=theme.sequential,
            zmin=0,
            zmax=100,
            colorbar=colour_bar(style.label("accuracy")),
            hovertemplate=words("figure.syntax.hover") + "<extra></extra>",
        )
    )
    figure.add_scatter(
        x=[str(HeadRef.of_row(row)) for row in best.rows()],
        y=rows,
        mode="markers",
        marker={"symbol": "circle-open", "size": 9, "color": theme.gold, "line": {"width": 2}},
        hoverinfo="skip",
        showlegend=False,
    )
    _layer_axis(figure, style, heads)
    figure.update_yaxes(range=[len(relations) - 0.5, -0.5], showgrid=False, title_text=words("figure.syntax.relation"))
    return finish(figure, run, style, words("figure.syntax.heading"), height=190 + 22 * len(relations), margin={"l": 110})


def _layer_axis(figure: go.Figure, style: Style, heads: list[HeadRef]) -> None:
    """A label under the middle of each layer, and a line between two layers."""
    starts = [i for i, head in enumerate(heads) if i == 0 or heads[i - 1].layer != head.layer]
    for start in starts[1:]:
        figure.add_vline(x=start - 0.5, line={"color": style.theme.hairline, "width": 1})
    middles = [(first + after - 1) // 2 for first, after in zip(starts, [*starts[1:], len(heads)], strict=True)]
    layers = [heads[start].layer for start in starts]
    labels = [style.label("layer_n", layer=layer) if len(starts) <= 12 else str(layer) for layer in layers]
    figure.update_xaxes(
        title_text=style.words("figure.syntax.axis"), tickmode="array", tickvals=[str(heads[i]) for i in middles], ticktext=labels,
        showgrid=False, range=[-0.5, len(heads) - 0.5],
    )  # fmt: skip


def _label(style: Style, relation: str) -> str:
    """A relation as the treebank names it; the row of all words in the language of the page."""
    return plain(style.words.name("relation", relation))


SYNTAX_FIGURE = Figure(
    "syntax", "syntax", "accuracy(h, r) = 100 · |{w ∈ r : argmax_v α_h(w, v) = g(w)}| / |r|", draw_syntax, clickable="cells"
)


# ---- Sentences


#: Attention below this is not drawn; the rest in this many shades.
MIN_WEIGHT, SHADES = 0.05, 5

#: Points of an arc.
POINTS = 15

#: Characters on both sides of the longest sentence, for the labels at the left.
MARGIN = 9

#: Pixels of a character, of both margins of the figure, and of the height of one sentence.
CHARACTER, SIDES, PANEL = 7.9, 48, 230


def draw_syntax_examples(run: Run, style: Style, stack: str) -> go.Figure:
    """The attention of the best head under the words, the arcs of the treebank in red over them; a menu chooses the relation."""
    rows = list(run.table("syntax_examples").rows())
    relations = list(dict.fromkeys(str(row["relation"]) for row in rows))
    figure, owners = _panels(style, rows, relations)
    menu = buttons(
        style.theme, x=1, xanchor="right", y=1, yanchor="bottom", pad={"b": 12},
        buttons=[
            {"label": plain(name), "method": "restyle", "args": ["visible", [owner == name for owner in owners]]} for name in relations
        ],
    )  # fmt: skip
    return _finish(figure, run, style, max(sum(row["relation"] == name for row in rows) for name in relations), updatemenus=[menu])


def draw_relation(run: Run, style: Style, relation: str) -> go.Figure:
    """The sentences of one relation only."""
    rows = [row for row in run.table("syntax_examples").rows() if row["relation"] == relation]
    figure, _ = _panels(style, rows, [relation])
    return _finish(figure, run, style, len(rows))


def least_width(run: Run, relation: str) -> int:
    """The pixels across that the sentences of a relation need, so that no word touches the next."""
    rows = [row for row in run.table("syntax_examples").rows() if row["relation"] == relation]
    return round(CHARACTER * max(_centres(json.loads(str(row["words"])))[1] for row in rows)) + SIDES


def _finish(figure: go.Figure, run: Run, style: Style, panels: int, **layout: Any) -> go.Figure:
    heading = style.words("figure.syntax_examples.heading")
    above = 40 if layout else 16
    margin = {"l": SIDES // 2, "r": SIDES // 2, "b": 16}
    height = 72 + above + 16 + PANEL * panels
    return finish(figure, run, style, heading, height=height, above=above, showlegend=False, margin=margin, hovermode="closest", **layout)


def _panels(style: Style, rows: list[dict[str, Cell]], relations: list[str]) -> tuple[go.Figure, list[str]]:
    """One panel for each sentence of a relation, the first relation visible; and the relation of each trace."""
    figure = make_subplots(max(sum(row["relation"] == name for row in rows) for name in relations), 1, vertical_spacing=0.02)
    owners: list[str] = []
    longest = max(_centres(json.loads(str(row["words"])))[1] for row in rows)
    for name in relations:
        for panel, row in enumerate(row for row in rows if row["relation"] == name):
            for trace in _traces(style, row, visible=name == relations[0]):
                figure.add_trace(trace, row=panel + 1, col=1)
                owners.append(name)
    figure.update_xaxes(visible=False, range=[0, longest], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-1.15, 1.15], fixedrange=True)
    return figure, owners


def _traces(style: Style, row: dict[str, Cell], *, visible: bool) -> list[go.Scatter]:
    theme, head = style.theme, HeadRef.of_row(row)
    words = json.loads(str(row["words"]))
    weights = np.array(json.loads(str(row["weights"])))  # [from, to]
    centres = _centres(words)[0] + MARGIN  # every sentence begins at the left, where a narrow window shows it
    reach = max(1.0, float(np.abs(centres[:, None] - centres[None]).max()))
    shared: dict[str, Any] = {"visible": visible, "showlegend": False}
    colour = style.head_colour(head.head)
    traces = _attention(words, weights, centres, reach, colour, shared)
    gold_x: list[float | None] = []
    gold_y: list[float | None] = []
    gold = json.loads(str(row["gold"]))
    forth = str(row["direction"]).startswith("dependent")  # arrows point where the head should look, so that both sides can be compared
    tips: list[float] = []
    for dependent, governor in gold:
        if governor >= 0:
            start, end = (dependent, governor) if forth else (governor, dependent)
            x, y = _arc(centres[start], centres[end], reach, 1)
            gold_x.extend([*x, None])
            gold_y.extend([*y, None])
            tips.append(x[-1])
    line = {"color": theme.gold, "width": 2}
    traces.append(go.Scatter(x=gold_x, y=gold_y, mode="lines", line=line, hoverinfo="skip", **shared))
    traces.append(_arrowheads(tips, 1, 9, theme.gold, 1.0, shared))
    marked = {word for arc in gold for word in arc}
    text = {"family": MONO, "size": 12, "color": [theme.gold if i in marked else theme.ink for i in range(len(words))]}
    shown = [plain(word) for word in words]
    traces.append(go.Scatter(x=centres, y=[0] * len(words), mode="text", text=shown, textfont=text, hoverinfo="skip", **shared))
    caption = f"{plain(str(row['relation']))}, {style.words.name('direction', str(row['direction']))} · {plain(str(row['sentence']))}"
    labels = [caption, style.label("gold"), str(head)]
    fonts = {"color": [theme.quiet, theme.gold, colour], "size": 12}
    traces.append(
        go.Scatter(
            x=[0, 0, 0], y=[1.05, 0.4, -0.4], mode="text", text=labels, textposition="middle right", textfont=fonts, hoverinfo="skip",
            **shared,
        )
    )  # fmt: skip
    return traces


def _attention(
    words: list[str], weights: np.ndarray, centres: np.ndarray, reach: float, colour: str, shared: dict[str, Any]
) -> list[go.Scatter]:
    """The attention of the head: arcs in shades, and on each an invisible point whose hover text is the weight."""
    levels: list[tuple[list[float | None], list[float | None]]] = [([], []) for _ in range(SHADES)]
    tops: dict[str, list[Any]] = {"x": [], "y": [], "text": []}
    for i, j in np.argwhere(weights >= MIN_WEIGHT):
        if i == j:
            continue
        weight = float(weights[i, j])
        x, y = _arc(centres[i], centres[j], reach, -1)
        level = levels[min(SHADES - 1, int(weight * SHADES))]
        level[0].extend([*x, None])
        level[1].extend([*y, None])
        tops["x"].append(x[POINTS // 2])
        tops["y"].append(y[POINTS // 2])
        tops["text"].append(f"{plain(words[i])} → {plain(words[j])}: {weight:.3f}")
    traces = []
    for number, (xs, ys) in enumerate(levels):
        share = (number + 1) / SHADES
        line = {"color": colour, "width": 0.5 + 3 * share}
        traces.append(go.Scatter(x=xs, y=ys, mode="lines", line=line, opacity=0.25 + 0.75 * share, hoverinfo="skip", **shared))
        tips = [x for x in xs[POINTS - 1 :: POINTS + 1] if x is not None]  # the last point of each arc, after which the line breaks
        traces.append(_arrowheads(tips, -1, 6 + 5 * share, colour, 0.25 + 0.75 * share, shared))
    marker = {"size": 14, "color": colour, "opacity": 0}
    traces.append(go.Scatter(**tops, mode="markers", marker=marker, hoverinfo="text", **shared))
    return traces


def _arrowheads(tips: list[float], side: int, size: float, colour: str, opacity: float, shared: dict[str, Any]) -> go.Scatter:
    """The points of arrows where arcs meet the words: downwards over them (side 1), upwards under them (-1)."""
    marker = {"symbol": "triangle-down" if side > 0 else "triangle-up", "size": size, "color": colour, "opacity": opacity}
    points = {"x": tips, "y": [side * 0.14] * len(tips)}
    return go.Scatter(**points, mode="markers", marker=marker, meta="arrowheads", hoverinfo="skip", **shared)


def _centres(words: list[str]) -> tuple[np.ndarray, float]:
    """The middle of each word on a line of text, and the length of the line, in characters."""
    return centres_of(words, gap=1.5, margin=MARGIN)


def _arc(start: float, end: float, reach: float, side: int) -> tuple[list[float], list[float]]:
    """An arc over (side 1) or under (-1) the words, higher the further it reaches."""
    return arc(start, end, height=0.2 + 0.65 * abs(end - start) / reach, foot=0.12, side=side, points=POINTS)


SYNTAX_EXAMPLES_FIGURE = Figure("syntax_examples", "syntax_examples", "α_h(w, v) = ⟨ Σ_{k ∈ v} α_h(q, k) ⟩_{q ∈ w}", draw_syntax_examples)
