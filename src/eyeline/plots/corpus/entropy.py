"""How broadly heads look: entropy by layer, from all tokens and from a single one, beside the entropy of even attention."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.corpus.average_attention import add_heads
from eyeline.plots.figure import Figure
from eyeline.plots.stacks import part_of, stacks_in
from eyeline.plots.style import Style, finish, layer_step
from eyeline.results.run import Run

#: Columns with the entropy of a single token's attention; a table has one of them.
SINGLE = ("cls", "first", "last", "one_row")


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """One dot for each head, the line is the mean of the layer, the dashed line is attention spread evenly."""
    words, theme, table = style.words, style.theme, run.table("entropy")
    stacks, unit = stacks_in(table), f" {style.label('nats')}"
    single = next(name for name in SINGLE if name in table.columns)
    panels = [(name, series) for name in stacks for series in ("all", single)]
    titles = [style.in_stack(name, words.name("from", series)) for name, series in panels]
    figure = make_subplots(
        len(stacks), 2, subplot_titles=titles, shared_yaxes="all", horizontal_spacing=0.05, vertical_spacing=0.3 / len(stacks)
    )
    for index, (name, series) in enumerate(panels):
        part, cell = part_of(table, name), {"row": index // 2 + 1, "col": index % 2 + 1}
        layers, values = part["layer"].astype(int), part[series].astype(float)
        numbers = sorted(set(layers.tolist()))
        add_heads(figure, style, part, values, name, f"%{{text}}: %{{y:.2f}}{unit}", size=7, **cell)
        figure.add_scatter(
            x=numbers,
            y=[float(values[layers == number].mean()) for number in numbers],
            mode="lines",
            line={"color": theme.ink, "width": 1.5},
            name=style.label("layer_mean"),
            hovertemplate=style.label("layer_mean_at", digits=".2f", unit=unit) + "<extra></extra>",
            showlegend=index == 0,
            **cell,
        )
        # for a single token that sees the whole text, even attention would be ln n, which the table gives for encoders only
        if series == "all" or single in ("cls", "first"):
            uniform = part["uniform"].astype(float)
            figure.add_scatter(
                x=numbers,
                y=[float(uniform[layers == number].mean()) for number in numbers],
                mode="lines",
                line={"color": theme.quiet, "width": 1.5, "dash": "dash"},
                name=style.label("even"),
                hovertemplate=style.label("even_at", unit="") + "<extra></extra>",
                showlegend=index == 0,
                **cell,
            )
        figure.update_xaxes(title_text=style.label("layer"), dtick=layer_step(len(numbers)), **cell)
        if cell["col"] == 1:
            figure.update_yaxes(title_text=style.label("entropy"), **cell)
    figure.update_annotations(font={"size": 12}, yshift=2)
    figure.update_yaxes(rangemode="tozero")
    legend = {"orientation": "h", "x": 1, "xanchor": "right", "y": 1, "yref": "container", "yanchor": "top"}
    return finish(
        figure, run, style, words("figure.entropy.heading"), height=150 + 310 * len(stacks), above=24 if style.titled else 48, legend=legend
    )


FIGURE = Figure("entropy", "entropy", "H_h(q) = − Σ_k α_h(q, k) · ln α_h(q, k)", draw, clickable="points")
