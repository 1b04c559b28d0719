"""Every head as a finder of antecedents: layer by head, for each type of mention."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.head_grid import grid_axes, head_grid
from eyeline.plots.style import Style, buttons, colour_bar, finish
from eyeline.results.run import Run
from eyeline.text.coreference.mention import GROUPS


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Heatmaps with one scale, the best head of each framed; buttons choose the direction where a model looks both ways."""
    words, theme, table = style.words, style.theme, run.table("coreference_heads")
    directions = list(dict.fromkeys(map(str, table.columns["direction"])))
    types = [name for name in GROUPS if not np.isnan(table[name].astype(float)).all()]  # those that occur
    rows = -(-len(types) // 2)
    figure = make_subplots(
        rows, 2, subplot_titles=[words.name("mention", name) for name in types], horizontal_spacing=0.1, vertical_spacing=0.28 / rows,
        specs=[[{} if 2 * row + column < len(types) else None for column in (0, 1)] for row in range(rows)],
    )  # fmt: skip
    largest = float(np.nanmax([table[name].astype(float) for name in types]))
    for direction in directions:
        part, visible = table.where(direction=direction), direction == directions[0]
        for index, name in enumerate(types):
            cell = {"row": index // 2 + 1, "col": index % 2 + 1}
            grid = head_grid(part, name, style, hover="%{z:.1f} %", colorscale=None, coloraxis="coloraxis", visible=visible)
            figure.add_trace(grid, **cell)
            layer, head = np.unravel_index(np.nanargmax(grid.z), grid.z.shape)
            figure.add_scatter(
                x=[grid.x[head]] * 2,
                y=[grid.y[layer]] * 2,
                mode="markers",
                marker={"symbol": "square-open", "size": [17, 13], "color": [theme.ink, theme.ground], "line": {"width": 2}},
                visible=visible,
                showlegend=False,
                hoverinfo="skip",
                **cell,
            )
    axis = {"colorscale": theme.sequential, "cmin": 0, "cmax": max(largest, 1.0), "colorbar": colour_bar(style.label("correct"))}
    figure.update_layout(coloraxis=axis)
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, table)
    figure.update_annotations(font={"size": 12}, yshift=2)
    if len(directions) > 1:
        figure.update_layout(updatemenus=[_menu(figure, style, directions)])
    return finish(figure, run, style, words("figure.coreference_heads.heading"), height=190 + 285 * rows, above=64)


def _menu(figure: go.Figure, style: Style, directions: list[str]) -> dict[str, object]:
    each = len(figure.data) // len(directions)
    choices = [
        {
            "label": style.words.name("direction", direction),
            "method": "restyle",
            "args": [{"visible": [i // each == number for i in range(len(figure.data))]}],
        }
        for number, direction in enumerate(directions)
    ]
    where = {"type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 28}}
    return buttons(style.theme, buttons=choices, **where)


FIGURE = Figure("coreference_heads", "coreference_heads", "100 · |{m : argmax_{a < m} α_h(m, a) ∈ A(m)}| / |{m}|", draw, clickable="cells")
