"""Activation patching: the share of the answer that each head brings back, as a grid of heads, and of heads and tokens."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.plots.figure import Figure
from eyeline.plots.head_grid import grid_axes, head_grid
from eyeline.plots.style import Style, colour_bar, finish, plain
from eyeline.results.run import Run

#: Rows of the grid of heads and tokens: the strongest heads.
ROWS = 16


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Left: every head. Right: the strongest heads at each token of the corrupt text, where that was measured."""
    words, table = style.words, run.table("patching")
    two = "patching_positions" in run.tables and len(run.table("patching_positions")) > 0
    titles = [words("figure.patching.heads"), words("figure.patching.positions")][: 1 + two]
    figure = make_subplots(rows=1, cols=1 + two, subplot_titles=titles, horizontal_spacing=0.18)
    most = max(1e-6, float(np.nanmax(np.abs(table["restored"].astype(float)), initial=0)))
    look: dict[str, Any] = {"zmin": -most, "zmax": most, "colorscale": style.theme.signed}
    bar = colour_bar(words("figure.patching.share"), **({"x": 0.41} if two else {}))
    figure.add_trace(head_grid(table, "restored", style, hover="%{z:+.3f}", colorbar=bar, **look), row=1, col=1)
    grid_axes(figure, style, table)
    figure.update_yaxes(title_text=style.label("layer"), col=1)
    if two:
        grid, heads, tokens = _by_token(run)
        shown = [plain(token) for token in tokens]
        figure.add_heatmap(
            z=grid.round(4), x=list(range(len(tokens))), y=heads, showscale=False, xgap=1, ygap=1,
            text=[[name] * len(tokens) for name in heads],
            customdata=[[[token] for token in shown]] * len(heads),
            hovertemplate="%{y}, %{customdata[0]}: %{z:+.3f}<extra></extra>", row=1, col=2, **look,
        )  # fmt: skip
        figure.update_xaxes(title_text="", tickvals=list(range(len(tokens))), ticktext=shown, tickangle=-60, col=2)
        figure.update_yaxes(title_text="", dtick=1, col=2)
    n_layers = len(set(table["layer"].tolist()))
    return finish(figure, run, style, words("figure.patching.heading"), height=200 + max(260, 22 * n_layers), above=48)


def _by_token(run: Run) -> tuple[np.ndarray, list[str], list[str]]:
    """Shares [head, token] of the heads that restore most, strongest first, their names, and the tokens."""
    table = run.table("patching_positions")
    tokens = {int(row["position"]): str(row["token"]) for row in table.rows()}
    values: dict[str, np.ndarray] = {}
    for row in table.rows():
        name = str(HeadRef("", int(row["layer"]), int(row["head"])))
        values.setdefault(name, np.zeros(len(tokens)))[int(row["position"])] = float(row["restored"])
    order = sorted(values, key=lambda name: -float(np.abs(values[name]).max()))[:ROWS]
    return np.array([values[name] for name in order]), order, [tokens[i] for i in sorted(tokens)]


FIGURE = Figure("patching", "patching", "r(h) = ( m(h from the clean text) − m′ ) / ( m − m′ )", draw, clickable="cells")
