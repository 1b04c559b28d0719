"""Two models side by side: how far the attention of each head lies apart, and how its breadth has changed."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.head_grid import head_grid
from eyeline.plots.style import stacks_of, styled
from eyeline.results.facts import present
from eyeline.results.run import Run


def compare(run: Run) -> go.Figure:
    """For each stack a grid of divergences, and a grid of changes in entropy."""
    table = run.table("compare")
    stacks = stacks_of(table)
    titles = [f"{stack} · {title}".lstrip(" ·") for stack in stacks for title in ("divergence", "change of entropy")]
    figure = make_subplots(rows=len(stacks), cols=2, subplot_titles=titles, horizontal_spacing=0.16)
    change = max(1e-6, float(np.nanmax(np.abs(table["entropy_change"].astype(float)), initial=0)))
    for row, stack in enumerate(stacks, 1):
        part = table.where(stack=stack) if stack else table
        looks = (
            ("js", {"zmin": 0, "colorbar": {"title": {"text": "nats"}, "x": 0.43, "thickness": 12, "outlinewidth": 0}}),
            (
                "entropy_change",
                {
                    "zmin": -change,
                    "zmax": change,
                    "colorscale": "RdBu",
                    "colorbar": {"title": {"text": "nats"}, "thickness": 12, "outlinewidth": 0},
                },
            ),
        )
        for column, (name, look) in enumerate(looks, 1):
            figure.add_trace(head_grid(part, name, hover="%{z:.4f} nats", showscale=row == 1, **look), row=row, col=column)
    figure.update_yaxes(autorange="reversed", title_text="layer", dtick=1)
    figure.update_xaxes(title_text="head", dtick=1 if len(set(table["head"])) <= 12 else 4, showgrid=False)
    layers = len(set(table["layer"]))
    title = f"{run.facts.model.name} against {present(run.facts.other, 'second model').name}"
    return styled(figure, run, title, height=180 + len(stacks) * max(220, 22 * layers), margin={"l": 64, "r": 24, "t": 120, "b": 56})
