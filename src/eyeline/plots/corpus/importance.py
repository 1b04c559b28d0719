"""How much attention matters: the mean size of the gradient of the loss by layer, one line for each target."""

from __future__ import annotations

import plotly.graph_objects as go

from eyeline.plots.figure import Figure
from eyeline.plots.stacks import part_of, stacks_in
from eyeline.plots.style import SERIES, Style, finish, layer_step
from eyeline.results.run import Run

#: The most distinct colours of the palette.
COLOURS = {
    "sep": SERIES[8],
    "cls": SERIES[6],
    "bos": SERIES[6],
    "eos": SERIES[8],
    "punctuation": SERIES[1],
    "other": SERIES[3],
    "first": SERIES[0],
}
DASHES = ("solid", "dash", "dot")


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Mean |∂L/∂α| by layer and target."""
    words, table = style.words, run.table("importance")
    figure = go.Figure()
    numbers: set[int] = set()
    for dash, name in zip(DASHES, stacks_in(table), strict=False):
        part = part_of(table, name)
        targets = list(dict.fromkeys(map(str, part.columns["target"])))
        for index, target in enumerate(target for target in targets if _shown(target, targets)):
            line = part.where(target=target)
            numbers |= set(line["layer"].astype(int).tolist())
            label = words.name("to", target)
            figure.add_scatter(
                x=line["layer"],
                y=line["mean"].astype(float),
                mode="lines+markers",
                name=style.in_stack(name, label),
                line={"color": COLOURS.get(target, SERIES[(index + 4) % 12]), "width": 2, "dash": dash},
                marker={"size": 7},
                hovertemplate=words("figure.importance.hover", target=label) + "<extra></extra>",
            )
    figure.update_xaxes(title_text=style.label("layer"), dtick=layer_step(len(numbers)))
    figure.update_yaxes(title_text=words("figure.importance.axis"), rangemode="tozero", exponentformat="power", showexponent="all")
    legend = {"title": {"text": style.label("attention")}, "x": 1.02, "y": 1}
    return finish(figure, run, style, words("figure.importance.heading"), height=440, legend=legend, margin={"l": 80})


def _shown(name: str, names: list[str]) -> bool:
    """`special` is the sum of targets that are shown; `first` is [CLS] where there is one."""
    return name != "special" and not (name == "first" and ("cls" in names or "bos" in names))


FIGURE = Figure("importance", "importance", "g(T) = ⟨ |∂L / ∂α(q, k)| ⟩,  k ∈ T", draw)
