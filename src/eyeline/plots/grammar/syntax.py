"""What each head knows of grammar: heads × relations, the best head of each relation marked."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from eyeline.plots.style import GOLD, HAIRLINE, plain, styled
from eyeline.results.run import Run


def syntax(run: Run) -> go.Figure:
    """A heatmap of accuracies, the better of the two directions for each head; rings mark the heads of the table."""
    table, best = run.table("syntax_heads"), run.table("syntax")
    relations = list(map(str, best.columns["relation"]))
    heads = sorted({(int(layer), int(head)) for layer, head in zip(table["layer"], table["head"], strict=True)})
    shown = [plain(name) for name in relations]
    row_of, column_of = {name: i for i, name in enumerate(relations)}, {head: i for i, head in enumerate(heads)}
    accuracy = np.full((len(relations), len(heads)), -1.0)  # [relation, head]
    direction = np.full(accuracy.shape, "", dtype=object)
    for row in table.rows():
        place = row_of[str(row["relation"])], column_of[int(row["layer"]), int(row["head"])]
        if float(row["accuracy"]) > accuracy[place]:
            accuracy[place], direction[place] = float(row["accuracy"]), str(row["direction"]).replace("-", " ")
    names = [f"L{layer}·H{head}" for layer, head in heads]
    baseline = best["baseline"].astype(float)
    about = np.stack([direction, np.broadcast_to(baseline[:, None].round(1), accuracy.shape)], -1)
    figure = go.Figure(
        go.Heatmap(
            z=accuracy.round(2),
            x=names,
            y=shown,
            customdata=about,
            colorscale="Blues",
            zmin=0,
            zmax=100,
            colorbar={"title": {"text": "accuracy (%)", "side": "right"}, "thickness": 14, "outlinewidth": 0},
            hovertemplate="%{y} by %{x}: %{z:.1f} %<br>%{customdata[0]}; best fixed offset: %{customdata[1]:.1f} %<extra></extra>",
        )
    )
    figure.add_scatter(
        x=[f"L{row['layer']}·H{row['head']}" for row in best.rows()],
        y=shown,
        mode="markers",
        marker={"symbol": "circle-open", "size": 9, "color": GOLD, "line": {"width": 2}},
        hoverinfo="skip",
        showlegend=False,
    )
    starts = [place for place, (layer, _) in enumerate(heads) if place == 0 or heads[place - 1][0] != layer]
    for start in starts[1:]:
        figure.add_vline(x=start - 0.5, line={"color": HAIRLINE, "width": 1})
    middles = [(a + b - 1) // 2 for a, b in zip(starts, [*starts[1:], len(heads)], strict=True)]
    labels = [f"layer {heads[a][0]}" if len(starts) <= 12 else str(heads[a][0]) for a in starts]
    figure.update_xaxes(
        title_text="head, layer by layer", tickmode="array", tickvals=[names[i] for i in middles], ticktext=labels, showgrid=False
    )
    figure.update_xaxes(range=[-0.5, len(heads) - 0.5])
    figure.update_yaxes(range=[len(relations) - 0.5, -0.5], showgrid=False, title_text="relation")
    title = "How often a head's most attended word is the grammatical head"
    return styled(figure, run, title, height=190 + 22 * len(relations), margin={"l": 110, "r": 24, "t": 96, "b": 56})
