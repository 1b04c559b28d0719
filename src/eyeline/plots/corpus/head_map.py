"""Heads in a plane: near each other where they attend alike, coloured by layer or by what they do."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go

from eyeline.plots.corpus.average_attention import NAMES
from eyeline.plots.figures import tables_of
from eyeline.plots.style import HEADS, INK, QUIET, layer_colours, styled
from eyeline.results.run import Run
from eyeline.results.table import Table

BEHAVIOURS = {
    "next": HEADS[0], "previous": HEADS[2], "broad": HEADS[7], "cls": HEADS[6], "sep": HEADS[8], "punctuation": HEADS[1],
    "none of these": "#b8bfc9", "not measured": "#b8bfc9",
}  # fmt: skip


def head_map(run: Run, stack: str | None = None) -> go.Figure:
    """One dot a head; a switch between colours by layer and by behaviour. Of several stacks the one that is named, or the first."""
    tables = tables_of(run, "head_map")
    stack = next(iter(tables)) if stack is None else stack
    table = tables[stack]
    layers = sorted(set(table["layer"].astype(int).tolist()))
    behaviours = [name for name in BEHAVIOURS if name in table.columns["behaviour"]]
    figure = go.Figure()
    for colour, layer in zip(layer_colours(len(layers)), layers, strict=True):
        figure.add_trace(_dots(table, stack, [int(n) == layer for n in table["layer"]], f"layer {layer}", colour, visible=True))
    for name in behaviours:
        label = f"to {NAMES[name]}" if name in NAMES else {"broad": "broad attention"}.get(name, name)
        chosen = [str(b) == name for b in table["behaviour"]]
        figure.add_trace(_dots(table, stack, chosen, label, BEHAVIOURS[name], visible=False))
    by_layer = [True] * len(layers) + [False] * len(behaviours)
    buttons = [
        {"label": "colour: layer", "method": "update", "args": [{"visible": by_layer}]},
        {"label": "colour: behaviour", "method": "update", "args": [{"visible": [not shown for shown in by_layer]}]},
    ]
    stress = run.facts.stress.get(f"head_map_{stack}" if stack else "head_map")
    figure.update_xaxes(title_text="divergence (nats); the axes have no direction of their own", zeroline=False)
    figure.update_yaxes(title_text="divergence (nats)", scaleanchor="x", scaleratio=1, zeroline=False)
    said = "" if stress is None else f"stress {stress:.2f} (0 would be exact)"
    figure.add_annotation(
        text=said, x=0, y=1, xref="paper", yref="paper", xanchor="left", yanchor="bottom", yshift=6, showarrow=False, font={"color": QUIET}
    )
    menu: dict[str, Any] = {
        "type": "buttons", "direction": "right", "buttons": buttons, "showactive": True, "x": 1, "xanchor": "right", "y": 1,
        "yanchor": "bottom", "pad": {"b": 6}, "bgcolor": "#ffffff", "bordercolor": "#d9dde3", "font": {"color": INK},
    }  # fmt: skip
    title = f"Which {stack + ' ' if stack else ''}heads are alike: near heads attend alike"
    return styled(figure, run, title, height=620, showlegend=True, updatemenus=[menu], margin={"l": 64, "r": 24, "t": 120, "b": 56})


def _dots(table: Table, stack: str, chosen: list[bool], name: str, colour: str, *, visible: bool) -> go.Scatter:
    rows = [row for row, kept in zip(table.rows(), chosen, strict=True) if kept]
    return go.Scatter(
        x=[row["x"] for row in rows],
        y=[row["y"] for row in rows],
        mode="markers",
        name=name,
        visible=visible,
        marker={"color": colour, "size": 10, "line": {"color": "#ffffff", "width": 1}},
        customdata=[[row["layer"], row["head"], stack] for row in rows],
        text=[f"L{row['layer']}·H{row['head']} · {row['behaviour']}" for row in rows],
        hovertemplate="%{text}<extra></extra>",
    )
