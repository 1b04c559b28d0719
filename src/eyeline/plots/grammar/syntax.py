"""What each head knows of grammar: heads × relations, the best head of each relation marked."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.figure import Figure
from eyeline.plots.style import Style, colour_bar, finish, plain
from eyeline.results.run import Run


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """A heatmap of accuracies, the better of the two directions for each head; rings mark the best head of each relation."""
    words, theme = style.words, style.theme
    table, best = run.table("syntax_heads"), run.table("syntax")
    relations = list(map(str, best.columns["relation"]))
    heads = sorted({HeadRef("", int(layer), int(head)) for layer, head in zip(table["layer"], table["head"], strict=True)})
    rows = [_label(style, name) for name in relations]
    row_of, column_of = {name: i for i, name in enumerate(relations)}, {head: i for i, head in enumerate(heads)}
    accuracy = np.full((len(relations), len(heads)), -1.0)  # [relation, head]
    direction = np.full(accuracy.shape, "", dtype=object)
    for row in table.rows():
        cell = row_of[str(row["relation"])], column_of[HeadRef("", int(row["layer"]), int(row["head"]))]
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
        x=[str(HeadRef("", int(row["layer"]), int(row["head"]))) for row in best.rows()],
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


FIGURE = Figure("syntax", "syntax", "accuracy(h, r) = 100 · |{w ∈ r : argmax_v α_h(w, v) = g(w)}| / |r|", draw, clickable="cells")
