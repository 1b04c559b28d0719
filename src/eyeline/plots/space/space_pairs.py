"""Dot product against distance, as the model has its vectors and in the gauge (figure 4b of AttentionViz, Yeh et al. 2023)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figures import tables_of
from eyeline.plots.style import head_colour, styled
from eyeline.results.facts import SpaceOptions
from eyeline.results.run import Run


def space_pairs(run: Run, stack: str = "") -> go.Figure:
    """A column for each head that is shown, before above and after below, of this stack, or of the first that has pairs."""
    tables = tables_of(run, "space_pairs")
    table = tables[stack] if stack else next(iter(tables.values()))
    heads = list(dict.fromkeys(zip(table["layer"].tolist(), table["head"].tolist(), strict=True)))
    titles = [_title(run, stack or next(iter(tables)), layer, head) for layer, head in heads]
    figure = make_subplots(
        rows=2, cols=len(heads), column_titles=titles, row_titles=["before", "after"], horizontal_spacing=0.02, vertical_spacing=0.12
    )
    for column, (layer, head) in enumerate(heads, 1):
        part = table.where(layer=layer, head=head)
        size = 3 + 9 * np.sqrt(np.clip(part["weight"].astype(float), 0, 1))
        for row, when in enumerate(("before", "after"), 1):
            figure.add_trace(
                go.Scatter(  # not Scattergl: a report must draw where there is no WebGL, too
                    x=part[f"distance_{when}"],
                    y=part[f"dot_{when}"],
                    mode="markers",
                    marker={"size": size, "color": head_colour(int(head)), "opacity": 0.5, "line": {"width": 0}},
                    customdata=part["weight"],
                    hovertemplate="distance %{x:.2f}, dot product %{y:.2f}<br>attention %{customdata:.3f}<extra></extra>",
                    showlegend=False,
                ),
                row=row,
                col=column,
            )
    figure.update_annotations(font_size=12)
    figure.update_xaxes(title_text="distance", row=2)
    figure.update_xaxes(nticks=3)
    figure.update_yaxes(nticks=4, tickfont={"size": 10})
    figure.update_yaxes(title_text="dot product", col=1)
    gauge = run.facts.options_as(SpaceOptions).gauge
    title = f"Dot product against distance, gauge {gauge}" + (f": {stack}" if stack else "")
    return styled(figure, run, title, height=480, margin={"l": 64, "r": 40, "t": 120, "b": 56})


def _title(run: Run, stack: str, layer: int, head: int) -> str:
    """The head's name, and its correlation of dot product and distance before and after."""
    row = next(run.table("space").where(layer=layer, head=head, **({"stack": stack} if stack else {})).rows())
    before, after = (float(row[f"correlation_{when}"]) for when in ("before", "after"))
    return f"L{layer}·H{head}<br>{before:.2f} → {after:.2f}"
