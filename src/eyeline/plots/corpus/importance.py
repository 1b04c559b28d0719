"""How much attention matters: the mean size of the loss's gradient by layer, a line a target."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.plots.corpus.average_attention import NAMES, layer_step
from eyeline.plots.style import HEADS, stacks_of, styled
from eyeline.results.run import Run

#: Lines in the order of the palette's most distinct colours.
COLOURS = {
    "sep": HEADS[8],
    "cls": HEADS[6],
    "bos": HEADS[6],
    "eos": HEADS[8],
    "punctuation": HEADS[1],
    "other": HEADS[3],
    "first": HEADS[0],
}
DASHES = ("solid", "dash", "dot")


def importance(run: Run) -> go.Figure:
    """Mean |∂L/∂α| by layer and target."""
    table = run.table("importance")
    figure = go.Figure()
    numbers: list[int] = []
    for dash, stack in zip(DASHES, stacks_of(table), strict=False):
        part = table.where(stack=stack) if stack else table
        names = list(dict.fromkeys(map(str, part.columns["target"])))
        for place, name in enumerate(name for name in names if _shown(name, names)):
            line = part.where(target=name)
            numbers = sorted({*numbers, *line["layer"].astype(int).tolist()})
            label = NAMES.get(name, name)
            figure.add_scatter(
                x=line["layer"],
                y=line["mean"].astype(float),
                mode="lines+markers",
                name=f"{stack} to {label}".strip(),
                line={"color": COLOURS.get(name, HEADS[(place + 4) % 12]), "width": 2, "dash": dash},
                marker={"size": 7},
                hovertemplate=f"layer %{{x}}, to {label}: %{{y:.2e}}<extra></extra>",
            )
    figure.update_xaxes(title_text="layer", dtick=layer_step(numbers))
    figure.update_yaxes(
        title_text="mean |∂L/∂α| (nats per unit of attention)", rangemode="tozero", exponentformat="power", showexponent="all"
    )
    legend = {"title": {"text": "attention"}, "x": 1.02, "y": 1}
    return styled(
        figure, run, "How much attention matters to the loss", height=440, legend=legend, margin={"l": 80, "r": 24, "t": 96, "b": 56}
    )


def _shown(name: str, names: list[str]) -> bool:
    """`special` is the sum of what is shown; `first` is [CLS] where there is one."""
    return name != "special" and not (name == "first" and ("cls" in names or "bos" in names))
