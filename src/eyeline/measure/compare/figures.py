"""Two models side by side: how different the attention of each head is, and how its breadth has changed."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.measure.compare.options import CompareFacts
from eyeline.measure.runs.facts import present
from eyeline.measure.runs.figure import Figure, Style, colour_bar, finish, grid_axes, head_grid, part_of, stacks_in
from eyeline.measure.runs.run import Run


def draw_comparison(run: Run, style: Style, stack: str) -> go.Figure:
    """For each stack a grid of divergences, and a grid of changes in entropy."""
    words, table = style.words, run.table("compare")
    stacks = stacks_in(table)
    titles = [style.in_stack(name, words(f"figure.compare.{panel}")) for name in stacks for panel in ("divergence", "entropy_change")]
    figure = make_subplots(rows=len(stacks), cols=2, subplot_titles=titles, horizontal_spacing=0.16, vertical_spacing=0.24 / len(stacks))
    change = max(1e-6, float(np.nanmax(np.abs(table["entropy_change"].astype(float)), initial=0)))
    nats = style.label("nats")
    for row, name in enumerate(stacks, 1):
        part = part_of(table, name)
        divergence = head_grid(
            part, "js", style, hover=f"%{{z:.4f}} {nats}", stack=name, zmin=0, showscale=row == 1, colorbar=colour_bar(nats, x=0.43)
        )
        entropy_change = head_grid(
            part, "entropy_change", style, hover=f"%{{z:+.4f}} {nats}", stack=name, zmin=-change, zmax=change, showscale=row == 1,
            colorscale=style.theme.signed, colorbar=colour_bar(nats),
        )  # fmt: skip
        figure.add_trace(divergence, row=row, col=1)
        figure.add_trace(entropy_change, row=row, col=2)
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, table)
    n_layers = len(set(table["layer"].tolist()))
    heading = words(
        "figure.compare.heading", first=run.facts.model.name, second=present(run.facts.of_kind(CompareFacts).other, "second model").name
    )
    return finish(figure, run, style, heading, height=180 + len(stacks) * max(220, 22 * n_layers), above=48)


COMPARE_FIGURE = Figure(
    "compare",
    "compare",
    "D(h) = ⟨ JS( α_{h,a}(q, ·), α_{h,b}(q, ·) ) ⟩,  ΔH(h) = H_b(h) − H_a(h)",
    draw_comparison,
    clickable="cells",
)
