"""How broadly heads look: entropy by layer, from all tokens and from one, beside what even attention would give."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.corpus.average_attention import layer_step
from eyeline.plots.style import INK, QUIET, head_colour, stacks_of, styled
from eyeline.results.run import Run

SERIES = {
    "all": "from all tokens",
    "cls": "from [CLS]",
    "first": "from the first token",
    "last": "from the last token",
    "one_row": "from the first or last token",
}


def entropy(run: Run) -> go.Figure:
    """One dot a head, the line is the layer's mean, the dashed line is attention spread evenly."""
    table = run.table("entropy")
    stacks = stacks_of(table)
    one = next(name for name in SERIES if name != "all" and name in table.columns)
    panels = [(stack, series) for stack in stacks for series in ("all", one)]
    titles = [f"{stack} {SERIES[series]}".strip() for stack, series in panels]
    figure = make_subplots(
        len(stacks), 2, subplot_titles=titles, shared_yaxes="all", horizontal_spacing=0.05, vertical_spacing=0.3 / len(stacks)
    )
    for place, (stack, series) in enumerate(panels):
        part = table.where(stack=stack) if stack else table
        row, column = place // 2 + 1, place % 2 + 1
        layers, heads, values = part["layer"].astype(int), part["head"].astype(int), part[series].astype(float)
        numbers = sorted(set(layers.tolist()))
        figure.add_scatter(
            x=layers,
            y=values,
            mode="markers",
            marker={"color": [head_colour(int(head)) for head in heads], "size": 7, "opacity": 0.85},
            customdata=[[int(layer), int(head), stack] for layer, head in zip(layers, heads, strict=True)],
            hovertemplate="L%{customdata[0]}·H%{customdata[1]}: %{y:.2f} nats<extra></extra>",
            showlegend=False,
            row=row,
            col=column,
        )
        figure.add_scatter(
            x=numbers,
            y=[float(values[layers == number].mean()) for number in numbers],
            mode="lines",
            line={"color": INK, "width": 1.5},
            name="mean of the layer",
            hovertemplate="mean of layer %{x}: %{y:.2f} nats<extra></extra>",
            showlegend=place == 0,
            row=row,
            col=column,
        )
        # from one row that sees the whole text, even attention would be ln n, which the table gives for encoders alone
        if series == "all" or one in ("cls", "first"):
            uniform = part["uniform"].astype(float)
            figure.add_scatter(
                x=numbers,
                y=[float(uniform[layers == number].mean()) for number in numbers],
                mode="lines",
                line={"color": QUIET, "width": 1.5, "dash": "dash"},
                name="even attention",
                hovertemplate="even attention: %{y:.2f} nats<extra></extra>",
                showlegend=place == 0,
                row=row,
                col=column,
            )
        figure.update_xaxes(title_text="layer", dtick=layer_step(numbers), row=row, col=column)
        if column == 1:
            figure.update_yaxes(title_text="entropy (nats)", row=row, col=column)
    figure.update_annotations(font={"size": 12}, yshift=2)
    figure.update_yaxes(rangemode="tozero")
    legend = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yref": "container", "yanchor": "top"}
    return styled(figure, run, "How broadly heads look: entropy of their attention", height=150 + 310 * len(stacks), legend=legend)
