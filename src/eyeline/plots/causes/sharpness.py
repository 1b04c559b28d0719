"""Does a head that looks sharply matter more? Every head by the entropy of its attention and by its effect on the loss."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.clickable_cells import head_data
from eyeline.plots.figure import Figure
from eyeline.plots.palette import layer_colour
from eyeline.plots.stacks import part_of, stacks_in
from eyeline.plots.style import Style, finish
from eyeline.results.effects import correlation
from eyeline.results.run import Run


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """One point for each head: entropy across, change of the loss up; the colour is the layer."""
    words, causes = style.words, run.table("causes")
    figure = go.Figure()
    layers = sorted({int(layer) for layer in causes["layer"]})
    colours = {layer: layer_colour(index, len(layers), dark=style.dark) for index, layer in enumerate(layers)}
    for name in stacks_in(causes):
        part = part_of(causes, name)
        entropy = {(int(a), int(b)): float(c) for a, b, c in zip(*_columns(run, name), strict=True)}
        heads = list(zip(part["layer"].astype(int).tolist(), part["head"].astype(int).tolist(), strict=True))
        figure.add_scatter(
            x=[entropy.get(head, np.nan) for head in heads],
            y=part["loss_change"].astype(float),
            mode="markers",
            name=words.name("stack", name) if name else "",
            marker={"size": 9, "color": [colours[layer] for layer, _ in heads], "line": {"color": style.theme.outline, "width": 1}},
            text=[HeadRef(name, *head).full_label for head in heads],
            customdata=[head_data(HeadRef(name, *head)) for head in heads],
            cliponaxis=False,  # a dot on the axis is drawn whole
            error_y={
                "type": "data",
                "array": part["loss_change_error"].astype(float),
                "width": 0,
                "thickness": 1,
                "color": style.theme.hairline,
            },
            hovertemplate=words("figure.causes_sharpness.hover") + "<extra></extra>",
            showlegend=bool(name),
        )
    figure.add_hline(y=0, line={"color": style.theme.ink, "width": 1, "dash": "dot"})
    figure.update_xaxes(title_text=style.label("entropy"), rangemode="tozero")
    figure.update_yaxes(title_text=words("figure.causes_sharpness.axis"))
    value = correlation(run, "|loss_change|", "entropy")
    heading = words("figure.causes_sharpness.heading", correlation="–" if value is None else f"{value:+.2f}")
    return finish(figure, run, style, heading, height=480)


def _columns(run: Run, stack: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    table = part_of(run.table("entropy"), stack) if "entropy" in run.tables else None
    empty = np.array([])
    return (empty, empty, empty) if table is None else (table["layer"], table["head"], table["all"])


FIGURE = Figure("causes_sharpness", "causes_agreement", "ρ = corr_{rank}( |ΔL(h)|, H(h) )", draw, clickable="points")
