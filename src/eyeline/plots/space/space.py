"""How often the nearest key is the most attended one, head by head: in the picture, and in the vectors before projection."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.head_grid import grid_axes, head_grid
from eyeline.plots.stacks import part_of, stacks_in
from eyeline.plots.style import Style, colour_bar, finish
from eyeline.results.facts import SpaceOptions
from eyeline.results.run import Run
from eyeline.results.space.shown_fidelity import IN_PICTURE, is_cross_validated, shown_columns
from eyeline.results.table import Table


def columns_of(table: Table) -> tuple[str, ...]:
    """The columns of the three grids: nearest key and nearest five as a reader is shown them, and nearest key before projection."""
    first, five, _ = shown_columns(table)
    return first, five, "top1_full"


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Three grids of layers and heads for each stack: the share of queries whose most attended key is near."""
    words, table = style.words, run.table("space")
    options = run.facts.options_as(SpaceOptions)
    stacks, columns = stacks_in(table), columns_of(table)
    if options.of == "values":
        return _entropies(run, style)
    if not np.isfinite(table[columns[0]].astype(float)).any():
        columns = ("top1_full",)  # no fidelity of the picture can be held out
    named = columns if is_cross_validated(options.of, options.project, options.gauge) else (*IN_PICTURE[: len(columns) - 1], "top1_full")
    titles = [style.in_stack(name, words(f"figure.space.{column}")) for name in stacks for column in named]
    figure = make_subplots(
        rows=len(stacks), cols=len(columns), subplot_titles=titles, horizontal_spacing=0.06, vertical_spacing=0.24 / len(stacks)
    )
    figure.update_annotations(font={"size": 12})
    for row, name in enumerate(stacks, 1):
        for index, column in enumerate(columns, 1):
            shown = row == 1 and index == len(columns)
            bar = colour_bar(words("figure.space.share")) if shown else None
            grid = head_grid(
                part_of(table, name), column, style, hover="%{z:.3f}", stack=name, zmin=0, zmax=1, showscale=shown, colorbar=bar
            )
            figure.add_trace(grid, row=row, col=index)
    figure.update_yaxes(title_text=style.label("layer"), col=1)
    grid_axes(figure, style, table)
    n_layers = len(set(table["layer"].tolist()))
    heading = words("figure.space.heading", project=words.name("project", options.project), dims=options.dims)
    return finish(figure, run, style, heading, height=180 + len(stacks) * max(220, 22 * n_layers), above=48)


def _entropies(run: Run, style: Style) -> go.Figure:
    """Values have no fidelity, so the grid shows the entropy of each head."""
    bar = colour_bar(style.label("nats"))
    figure = go.Figure(head_grid(run.table("space"), "entropy", style, hover=f"%{{z:.2f}} {style.label('nats')}", colorbar=bar))
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, run.table("space"))
    return finish(figure, run, style, style.words("figure.space.heading_values"))


FIGURE = Figure("space", "space", "top1 = |{q : argmin_k ‖x_q − y_k‖ = argmax_k α(q, k)}| / |{q}|", draw, clickable="cells")
