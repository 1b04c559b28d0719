"""Whether near means attends, head by head: in the projected picture, and in the vectors before."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.head_grid import head_grid
from eyeline.plots.style import stacks_of, styled
from eyeline.results.facts import SpaceOptions
from eyeline.results.run import Run

#: Column of the table → what stands over its grid.
SHOWN = {
    "top1_projected": "nearest key, in the picture",
    "top5_projected": "nearest five, in the picture",
    "top1_full": "nearest key, before",
}


def space(run: Run) -> go.Figure:
    """Three grids of layers and heads for each stack: the share of queries whose most attended key is near."""
    table = run.table("space")
    stacks = stacks_of(table)
    parts = {stack: table.where(stack=stack) if stack else table for stack in stacks}
    if not np.isfinite(table["top1_projected"].astype(float)).any():
        return _entropies(run)
    titles = [f"{stack} · {title}".lstrip(" ·") for stack in stacks for title in SHOWN.values()]
    figure = make_subplots(rows=len(stacks), cols=len(SHOWN), subplot_titles=titles, horizontal_spacing=0.06)
    for row, stack in enumerate(stacks, 1):
        for column, name in enumerate(SHOWN, 1):
            bar = {"title": {"text": "share of queries"}, "thickness": 14, "outlinewidth": 0}
            shown = row == 1 and column == len(SHOWN)
            grid = head_grid(parts[stack], name, hover="%{z:.3f}", zmin=0, zmax=1, showscale=shown, colorbar=bar if shown else None)
            figure.add_trace(grid, row=row, col=column)
    layers = max(len(set(part["layer"])) for part in parts.values())
    figure.update_yaxes(autorange="reversed", dtick=max(1, layers // 12), title_text="layer", col=1)
    figure.update_yaxes(autorange="reversed", dtick=max(1, layers // 12))
    figure.update_xaxes(title_text="head", dtick=1 if len(set(table["head"])) <= 12 else 4, showgrid=False)
    options = run.facts.options_as(SpaceOptions)
    title = f"How often the most attended key is the nearest: {options.project}, {options.dims} dimensions"
    return styled(figure, run, title, height=180 + len(stacks) * max(220, 22 * layers), margin={"l": 64, "r": 24, "t": 120, "b": 56})


def _entropies(run: Run) -> go.Figure:
    """Values have no fidelity: what is known of each head is how broadly it looks."""
    figure = go.Figure(
        head_grid(run.table("space"), "entropy", hover="%{z:.2f} nats", colorbar={"title": {"text": "nats"}, "thickness": 14})
    )
    figure.update_yaxes(autorange="reversed", title_text="layer")
    figure.update_xaxes(title_text="head")
    return styled(figure, run, "Entropy of the heads whose values are shown")
