"""Dot product against distance, as the model has its vectors and in the gauge (figure 4b of AttentionViz, Yeh et al. 2023)."""

from __future__ import annotations

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.plots.figure import Figure
from eyeline.plots.stacks import table_of
from eyeline.plots.style import Style, finish
from eyeline.results.facts import SpaceOptions
from eyeline.results.run import Run

#: The share of the figure's width between two heads: the numbers of an axis stand there, beside the dots of the head before.
GAP = 0.04


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """A column for each head, before above and after below, of this stack, or of the first that has pairs."""
    words = style.words
    named, (stack, table) = stack, table_of(run, "space_pairs", stack)
    heads = [
        HeadRef(stack, layer, head) for layer, head in dict.fromkeys(zip(table["layer"].tolist(), table["head"].tolist(), strict=True))
    ]
    figure = make_subplots(
        rows=2, cols=len(heads), column_titles=[_title(run, style, head) for head in heads],
        row_titles=[words("figure.space_pairs.before"), words("figure.space_pairs.after")], vertical_spacing=0.12,
        horizontal_spacing=min(GAP, 0.5 / len(heads)),
    )  # fmt: skip
    for column, head in enumerate(heads, 1):
        part = table.where(layer=head.layer, head=head.head)
        size = 3 + 9 * np.sqrt(np.clip(part["weight"].astype(float), 0, 1))
        for row, when in enumerate(("before", "after"), 1):
            figure.add_trace(
                go.Scatter(  # not Scattergl: a report must also draw where there is no WebGL
                    x=part[f"distance_{when}"],
                    y=part[f"dot_{when}"],
                    mode="markers",
                    marker={"size": size, "color": style.head_colour(head.head), "opacity": 0.5, "line": {"width": 0}},
                    customdata=part["weight"],
                    hovertemplate=words("figure.space_pairs.hover") + "<extra></extra>",
                    showlegend=False,
                ),
                row=row,
                col=column,
            )
    figure.update_annotations(font_size=12)
    figure.update_xaxes(title_text=words("figure.space_pairs.distance"), row=2)
    figure.update_xaxes(nticks=3)
    figure.update_yaxes(nticks=4, tickfont={"size": 10})
    figure.update_yaxes(title_text=words("figure.space_pairs.dot"), col=1)
    gauge = words.name("gauge", run.facts.options_as(SpaceOptions).gauge)
    heading = words("figure.space_pairs.heading", gauge=gauge)
    if named:
        heading = words("figure.space_pairs.heading_stack", gauge=gauge, stack=words.name("stack", named))
    return finish(figure, run, style, heading, height=510, above=72, margin={"r": 40})


def _title(run: Run, style: Style, head: HeadRef) -> str:
    """The label of the head, and its correlation of dot product and distance before and after."""
    row = next(run.table("space").where(layer=head.layer, head=head.head, **({"stack": head.stack} if head.stack else {})).rows())
    before, after = (f"{float(row[f'correlation_{when}']):.2f}".replace("-", "−") for when in ("before", "after"))
    return style.words("figure.space_pairs.correlation", head=head, before=before, after=after)


FIGURE = Figure("space_pairs", "space_pairs", "r = corr_α( q · k, ‖q − k‖ )", draw)
