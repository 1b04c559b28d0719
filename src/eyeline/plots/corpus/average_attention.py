"""Where heads look: one panel for each target, one dot for each head, a line through the means of the layers."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.plots.clickable_cells import head_data
from eyeline.plots.figure import Figure
from eyeline.plots.stacks import part_of, stacks_in
from eyeline.plots.style import Style, finish, layer_step
from eyeline.results.run import Run
from eyeline.results.table import Table

COLUMNS = 3


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """The mean share of attention that each head gives to each target."""
    words, table = style.words, run.table("average_attention")
    panels = [(name, target) for name in stacks_in(table) for target in _targets(part_of(table, name))]
    rows = -(-len(panels) // COLUMNS)
    titles = [style.in_stack(name, words.name("to", target)) for name, target in panels]
    figure = make_subplots(
        rows, COLUMNS, subplot_titles=titles, shared_xaxes="all", shared_yaxes="all", vertical_spacing=0.28 / rows, horizontal_spacing=0.04
    )
    for index, (name, target) in enumerate(panels):
        cell = {"row": index // COLUMNS + 1, "col": index % COLUMNS + 1}
        part = part_of(table, name).where(target=target)
        layers, means = part["layer"].astype(int), part["mean"].astype(float)
        add_heads(figure, style, part, means, name, "%{text}: %{y:.3f}", size=6, **cell)
        numbers = sorted(set(layers.tolist()))
        figure.add_scatter(
            x=numbers,
            y=[float(np.mean(means[layers == number])) for number in numbers],
            mode="lines",
            line={"color": style.theme.ink, "width": 1.5},
            hovertemplate=style.label("layer_mean_at", digits=".3f", unit="") + "<extra></extra>",
            showlegend=False,
            **cell,
        )
        last = index >= len(panels) - COLUMNS
        figure.update_xaxes(title_text=style.label("layer") if last else None, showticklabels=True, dtick=layer_step(len(numbers)), **cell)
        if cell["col"] == 1:
            figure.update_yaxes(title_text=style.label("share"), **cell)
    figure.update_annotations(font={"size": 12}, yshift=2)
    figure.update_yaxes(rangemode="tozero", tickformat=".1f")
    return finish(figure, run, style, words("figure.average_attention.heading"), height=150 + 190 * rows)


def add_heads(
    figure: go.Figure, style: Style, part: Table, values: np.ndarray, stack: str, hover: str, *, size: int, row: int, col: int
) -> None:
    """One dot for each head over its layer, in the colour of the head."""
    heads = [HeadRef(stack, int(layer), int(head)) for layer, head in zip(part["layer"], part["head"], strict=True)]
    figure.add_scatter(
        x=part["layer"].astype(int),
        y=values,
        mode="markers",
        marker={"color": [style.head_colour(head.head) for head in heads], "size": size, "opacity": 0.85},
        text=[str(head) for head in heads],
        customdata=[head_data(head) for head in heads],
        cliponaxis=False,  # a dot on the axis is drawn whole
        hovertemplate=f"{hover}<extra></extra>",
        showlegend=False,
        row=row,
        col=col,
    )
    figure.update_xaxes(layer="below traces", row=row, col=col)


def _targets(table: Table) -> list[str]:
    return list(dict.fromkeys(map(str, table.columns["target"])))


FIGURE = Figure("average_attention", "average_attention", "a(h, T) = ⟨ Σ_{k ∈ T} α_h(q, k) ⟩", draw, clickable="points")
