"""Which heads the probes use: weights by layer and head, both directions."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.corpus.average_attention import layer_step
from eyeline.plots.style import styled
from eyeline.results.run import Run
from eyeline.results.table import Table

#: Blue against, white nothing, orange for; the same on both sides.
SIGNED = ((0.0, "#1d4ed8"), (0.5, "#ffffff"), (1.0, "#ea580c"))
#: Pixels between two rows of panels, and above and below them.
BETWEEN, MARGIN = 96, {"t": 112, "b": 56}


def probe_weights(run: Run) -> go.Figure:
    """A row of panels a probe, a panel a direction; each probe has a scale of its own, symmetric about zero."""
    table = run.table("probe_weights")
    probes = list(dict.fromkeys(map(str, table.columns["probe"])))
    directions = list(dict.fromkeys(map(str, table.columns["direction"])))
    said = {direction: direction.replace("-", " ") for direction in directions}
    titles = [f"{probe}: {said[direction]}" for probe in probes for direction in directions]
    rows = len(set(table["layer"].tolist()))
    panel = max(200, min(560, 20 * rows + 40))
    inner = len(probes) * panel + (len(probes) - 1) * BETWEEN
    spacing = BETWEEN / inner if len(probes) > 1 else 0
    figure = make_subplots(len(probes), len(directions), subplot_titles=titles, vertical_spacing=spacing, horizontal_spacing=0.07)
    figure.update_annotations(font={"size": 14}, yshift=4)
    for row, probe in enumerate(probes):
        part = table.where(probe=probe)
        most = float(np.abs(part["weight"].astype(float)).max()) or 1.0
        middle = 1 - (row * (panel + BETWEEN) + panel / 2) / inner
        for column, direction in enumerate(directions):
            layers, heads, square = _square(part.where(direction=direction))
            figure.add_heatmap(
                z=square,
                x=heads,
                y=layers,
                zmin=-most,
                zmax=most,
                colorscale=SIGNED,
                showscale=column == 0,
                colorbar={"title": {"text": "weight"}, "thickness": 14, "outlinewidth": 0, "len": panel / inner, "y": middle},
                hovertemplate=f"L%{{y}}·H%{{x}}, {said[direction]}: %{{z:.2f}}<extra></extra>",
                row=row + 1,
                col=column + 1,
            )
            figure.update_xaxes(title_text="head", dtick=1 if len(heads) <= 16 else None, showgrid=False, row=row + 1, col=column + 1)
            figure.update_yaxes(
                title_text="layer" if column == 0 else None, dtick=layer_step(layers), autorange="reversed", showgrid=False,
                row=row + 1, col=column + 1,
            )  # fmt: skip
    height = inner + MARGIN["t"] + MARGIN["b"]
    styled(figure, run, "Which heads the probes use", height=height, margin={"l": 64, "r": 24, **MARGIN})
    return figure


def _square(part: Table) -> tuple[list[int], list[int], np.ndarray]:
    """Layers, heads, and weights [layer, head]; nan where a layer has fewer heads."""
    layers, heads = (sorted({int(value) for value in part[name]}) for name in ("layer", "head"))
    square = np.full((len(layers), len(heads)), np.nan)
    for row in part.rows():
        square[layers.index(int(row["layer"])), heads.index(int(row["head"]))] = float(row["weight"])
    return layers, heads, square
