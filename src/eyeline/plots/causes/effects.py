"""What each head does to the loss when it is ablated: layers down, heads across; blue heads are those without which the loss falls."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.head_grid import grid_axes, head_grid
from eyeline.plots.stacks import part_of, stacks_in
from eyeline.plots.style import Style, colour_bar, finish
from eyeline.results.run import Run


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """For each stack the change of the loss, and how much less probable the answers become."""
    words, table = style.words, run.table("causes")
    stacks = stacks_in(table)
    panels = ("loss_change", "answer_change")
    titles = [style.in_stack(name, words(f"figure.causes.{panel}")) for name in stacks for panel in panels]
    figure = make_subplots(rows=len(stacks), cols=2, subplot_titles=titles, horizontal_spacing=0.16, vertical_spacing=0.24 / len(stacks))
    units = {"loss_change": style.label("nats"), "answer_change": words("figure.causes.probability")}
    for row, name in enumerate(stacks, 1):
        for column, panel in enumerate(panels, 1):
            most = max(1e-6, float(np.nanmax(np.abs(table[panel].astype(float)), initial=0)))
            bar = colour_bar(units[panel], **({"x": 0.43} if column == 1 else {}))
            grid = head_grid(
                part_of(table, name), panel, style, hover=f"%{{z:+.4f}} {units[panel]}", stack=name, zmin=-most, zmax=most,
                showscale=row == 1, colorscale=style.theme.signed, colorbar=bar,
            )  # fmt: skip
            figure.add_trace(grid, row=row, col=column)
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, table)
    n_layers = len(set(table["layer"].tolist()))
    height = 180 + len(stacks) * max(220, 22 * n_layers)
    return finish(figure, run, style, words("figure.causes.heading"), height=height, above=48)


FIGURE = Figure(
    "causes",
    "causes",
    "ΔL(h) = ⟨ L(h ablated) − L ⟩,  Δp(h) = ⟨ p(y) − p(y | h ablated) ⟩",
    draw,
    clickable="cells",
)
