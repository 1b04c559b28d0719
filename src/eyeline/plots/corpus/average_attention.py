"""Where heads look: one panel a target, one dot a head, a line through the layer means."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.style import HAIRLINE, INK, head_colour, stacks_of, styled
from eyeline.results.run import Run
from eyeline.results.table import Table

NAMES = {
    "cls": "[CLS]", "sep": "separators", "bos": "beginning token", "eos": "ending token", "punctuation": "full stops and commas",
    "next": "next token", "previous": "previous token", "self": "itself", "first": "first token", "special": "all special tokens",
    "other": "all other tokens", "sep_from_sep": "separator → separator", "sep_from_other": "other → separator",
}  # fmt: skip
ACROSS = 3


def average_attention(run: Run) -> go.Figure:
    """The mean share of attention that each head gives to each target."""
    table = run.table("average_attention")
    panels = [(stack, target) for stack in stacks_of(table) for target in _targets(table, stack)]
    down = -(-len(panels) // ACROSS)
    titles = [_title(stack, NAMES.get(target, target)) for stack, target in panels]
    figure = make_subplots(
        down, ACROSS, subplot_titles=titles, shared_xaxes="all", shared_yaxes="all", vertical_spacing=0.28 / down, horizontal_spacing=0.04
    )
    for place, (stack, target) in enumerate(panels):
        part = _part(table, stack, target)
        row, column = place // ACROSS + 1, place % ACROSS + 1
        layers, heads, means = part["layer"].astype(int), part["head"].astype(int), part["mean"].astype(float)
        figure.add_scatter(
            x=layers,
            y=means,
            mode="markers",
            marker={"color": [head_colour(int(head)) for head in heads], "size": 6, "opacity": 0.8},
            customdata=[[int(layer), int(head), stack] for layer, head in zip(layers, heads, strict=True)],
            hovertemplate="L%{customdata[0]}·H%{customdata[1]}: %{y:.3f}<extra></extra>",
            showlegend=False,
            row=row,
            col=column,
        )
        numbers = sorted(set(layers.tolist()))
        figure.add_scatter(
            x=numbers,
            y=[float(np.mean(means[layers == number])) for number in numbers],
            mode="lines",
            line={"color": INK, "width": 1.5},
            hovertemplate="mean of layer %{x}: %{y:.3f}<extra></extra>",
            showlegend=False,
            row=row,
            col=column,
        )
        figure.update_xaxes(
            title_text="layer" if place >= len(panels) - ACROSS else None,
            showticklabels=True,
            dtick=layer_step(numbers),
            row=row,
            col=column,
        )
        if column == 1:
            figure.update_yaxes(title_text="share of attention", row=row, col=column)
    figure.update_annotations(font={"size": 12}, yshift=2)
    figure.update_yaxes(rangemode="tozero", tickformat=".1f")
    figure.update_xaxes(gridcolor=HAIRLINE)
    return styled(figure, run, "Where heads look: one dot a head, the line is the layer's mean", height=150 + 190 * down)


def _title(stack: str, name: str) -> str:
    """`to the next token`, `cross: to the first token`; names that say both ends stand as they are."""
    said = name if "→" in name else f"to {name}"
    return f"{stack}: {said}" if stack else said


def _targets(table: Table, stack: str) -> list[str]:
    part = table.where(stack=stack) if stack else table
    return list(dict.fromkeys(map(str, part.columns["target"])))


def _part(table: Table, stack: str, target: str) -> Table:
    return table.where(stack=stack, target=target) if stack else table.where(target=target)


def layer_step(numbers: list[int]) -> int:
    """A tick a layer where they fit, else every second, fifth or tenth."""
    return next((step for step in (1, 2, 5, 10) if len(numbers) / step <= 13), 20)
