"""Heads while a model trains: what each becomes, step by step."""

from __future__ import annotations

from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.look.palette import layer_colour
from eyeline.measure.runs.figure import Figure, Style, finish
from eyeline.measure.runs.run import Run
from eyeline.measure.training.result import MEASURES, TABLE


def draw_training(run: Run, style: Style, stack: str) -> go.Figure:
    """A panel for each measure: a line for each head over the steps, in the colour of its layer."""
    words, table = style.words, run.table(TABLE)
    rows = list(table.rows())
    measures = [name for name in MEASURES if any(not np.isnan(float(row[name])) for row in rows)]
    titles = [words(f"figure.training.{name}") for name in measures]
    figure = make_subplots(rows=len(measures), cols=1, shared_xaxes=True, subplot_titles=titles, vertical_spacing=0.06)
    lines: dict[tuple[str, int, int], list[dict[str, Any]]] = {}
    for row in rows:
        lines.setdefault((str(row.get("stack", "")), int(row["layer"]), int(row["head"])), []).append(row)
    several = len({key[0] for key in lines}) > 1
    layers = sorted({layer for _, layer, _ in lines})
    named: set[int] = set()  # layers that stand in the legend: a click there hides a layer's heads
    for key, line in lines.items():
        head = HeadRef(key[0] if several else "", key[1], key[2]).full_label
        for number, measure in enumerate(measures, 1):
            figure.add_scatter(
                x=[row["step"] for row in line],
                y=[float(row[measure]) for row in line],
                mode="lines+markers",
                marker={"size": 4},
                line={"width": 1.5, "color": layer_colour(layers.index(key[1]), len(layers), dark=style.dark)},
                name=str(key[1]),
                legendgroup=str(key[1]),
                legendrank=layers.index(key[1]),
                showlegend=key[1] not in named,
                hovertemplate=f"{head}: %{{y:.3f}}<extra></extra>",
                row=number,
                col=1,
            )
            named.add(key[1])
    figure.update_layout(legend_title_text=style.label("layer"))
    figure.update_xaxes(title_text=words("figure.training.axis"), row=len(measures), col=1)
    return finish(figure, run, style, words("figure.training.heading"), height=170 * len(measures) + 120, above=40)


TRAINING_FIGURE = Figure("training", TABLE, "H = −Σ_k α_k · ln α_k,   max_{q,k} s · q·k", draw_training)
