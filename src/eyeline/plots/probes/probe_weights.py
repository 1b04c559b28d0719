"""Which heads the probes use: weights by layer and head, both directions."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.head_grid import grid_axes, head_grid
from eyeline.plots.probes.probes import label_of
from eyeline.plots.style import HEADING, Style, colour_bar, finish
from eyeline.results.run import Run

#: Pixels between two rows of panels, above the first and below the last.
BETWEEN, ABOVE, BELOW = 96, 48, 56


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """A row of panels for each probe, a panel for each direction; each probe has its own scale, symmetric about zero."""
    words, table = style.words, run.table("probe_weights")
    probes = list(dict.fromkeys(map(str, table.columns["probe"])))
    directions = {name: words.name("direction", name) for name in dict.fromkeys(map(str, table.columns["direction"]))}
    titles = [
        words("figure.probe_weights.panel", probe=label_of(words, probe), direction=label)
        for probe in probes
        for label in directions.values()
    ]
    panel = max(200, min(560, 20 * len(set(table["layer"].tolist())) + 40))
    inner = len(probes) * panel + (len(probes) - 1) * BETWEEN
    spacing = BETWEEN / inner if len(probes) > 1 else 0
    figure = make_subplots(len(probes), len(directions), subplot_titles=titles, vertical_spacing=spacing, horizontal_spacing=0.07)
    figure.update_annotations(font={"size": 14}, yshift=4)
    for row, probe in enumerate(probes):
        part = table.where(probe=probe)
        largest = float(np.abs(part["weight"].astype(float)).max()) or 1.0
        middle = 1 - (row * (panel + BETWEEN) + panel / 2) / inner
        for column, (direction, label) in enumerate(directions.items()):
            grid = head_grid(
                part.where(direction=direction), "weight", style, hover=words("figure.probe_weights.hover", direction=label),
                zmin=-largest, zmax=largest, colorscale=style.theme.signed, showscale=column == 0,
                colorbar=colour_bar(style.label("weight"), len=panel / inner, y=middle),
            )  # fmt: skip
            figure.add_trace(grid, row=row + 1, col=column + 1)
    figure.update_yaxes(title_text=style.label("layer"), col=1)
    grid_axes(figure, style, table)
    return finish(figure, run, style, words("figure.probe_weights.heading"), height=inner + HEADING + ABOVE + BELOW, above=ABOVE)


FIGURE = Figure("probe_weights", "probe_weights", "p(g | w) = softmax_g Σ_h [ u_h · α_h(w, g) + v_h · α_h(g, w) ]", draw, clickable="cells")
