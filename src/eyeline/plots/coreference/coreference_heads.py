"""Every head as a finder of antecedents: layer by head, for each type of mention."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.coreference.coreference import SAID, TYPES
from eyeline.plots.style import INK, styled
from eyeline.results.run import Run
from eyeline.results.table import Table

SAYS = {"mention-to-antecedent": "mentions to antecedents", "antecedent-to-mention": "antecedents to mentions"}


def coreference_heads(run: Run) -> go.Figure:
    """Heatmaps with one scale, the best head of each framed; buttons choose the direction where a model looks both ways."""
    table = run.table("coreference_heads")
    directions = list(dict.fromkeys(map(str, table.columns["direction"])))
    n_heads = int(table["head"].astype(int).max()) + 1
    layers = sorted(set(table["layer"].astype(int).tolist()))
    types = [name for name in TYPES if not np.isnan(table[name].astype(float)).all()]  # those that occur
    rows = -(-len(types) // 2)
    figure = make_subplots(
        rows, 2, subplot_titles=[SAID[name] for name in types], horizontal_spacing=0.1, vertical_spacing=0.28 / rows,
        specs=[[{} if 2 * row + column < len(types) else None for column in (0, 1)] for row in range(rows)],
    )  # fmt: skip
    top = float(np.nanmax([table[name].astype(float) for name in types]))
    for direction in directions:
        part = table.where(direction=direction)
        for place, name in enumerate(types):
            square = _square(part, name, layers, n_heads)
            figure.add_heatmap(
                z=square,
                x=list(range(n_heads)),
                y=layers,
                coloraxis="coloraxis",
                visible=direction == directions[0],
                hovertemplate="L%{y}·H%{x}: %{z:.1f} %<extra>" + SAID[name] + "</extra>",
                hoverongaps=False,
                row=place // 2 + 1,
                col=place % 2 + 1,
            )
            row, column = np.unravel_index(np.nanargmax(square), square.shape)
            figure.add_scatter(
                x=[int(column)] * 2,
                y=[layers[int(row)]] * 2,
                mode="markers",
                marker={"symbol": "square-open", "size": [17, 13], "color": [INK, "#ffffff"], "line": {"width": 2}},
                visible=direction == directions[0],
                showlegend=False,
                hoverinfo="skip",
                row=place // 2 + 1,
                col=place % 2 + 1,
            )
    colorbar = {"title": {"text": "right (%)", "side": "right"}, "thickness": 14, "outlinewidth": 0}
    figure.update_layout(coloraxis={"colorscale": "Blues", "cmin": 0, "cmax": max(top, 1.0), "colorbar": colorbar})
    step = -(-max(n_heads, len(layers)) // 12)
    figure.update_xaxes(title_text="head", dtick=step, showgrid=False)
    figure.update_yaxes(title_text="layer", dtick=step, showgrid=False)
    figure.update_annotations(font={"size": 12}, yshift=2)
    if len(directions) > 1:
        figure.update_layout(updatemenus=[_menu(figure, directions)])
    title = "Which heads look from a mention to its antecedent"
    figure = styled(figure, run, title, height=190 + 285 * rows, margin={"l": 64, "r": 24, "t": 136, "b": 56})
    figure.update_yaxes(autorange="reversed")
    return figure


def _square(part: Table, name: str, layers: list[int], n_heads: int) -> np.ndarray:
    """[layer, head], nan where a layer has fewer heads or the type does not occur"""
    square = np.full((len(layers), n_heads), np.nan)
    for layer, head, value in zip(part["layer"].astype(int), part["head"].astype(int), part[name].astype(float), strict=True):
        square[layers.index(int(layer)), int(head)] = value
    return square.round(3)


def _menu(figure: go.Figure, directions: list[str]) -> dict[str, object]:
    each = len(figure.data) // len(directions)
    buttons = [
        {"label": SAYS[direction], "method": "restyle", "args": [{"visible": [i // each == number for i in range(len(figure.data))]}]}
        for number, direction in enumerate(directions)
    ]
    return {
        "type": "buttons",
        "direction": "right",
        "buttons": buttons,
        "x": 0,
        "xanchor": "left",
        "y": 1,
        "yanchor": "bottom",
        "pad": {"b": 28},
        "bgcolor": "#ffffff",
    }
