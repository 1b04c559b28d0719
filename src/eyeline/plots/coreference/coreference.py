"""Which method finds antecedents: rules beside the best head, by the type of mention."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.figure import Figure
from eyeline.plots.style import Style, finish
from eyeline.results.facts import present
from eyeline.results.run import Run
from eyeline.results.table import Cell
from eyeline.text.coreference.mention import GROUPS
from eyeline.words import Words

#: Rules are grey, the better the darker; a head has its own colour.
GREYS = {"nearest": "#c3c9d2", "head match": "#939ba8", "rule-based": "#5b6472"}


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """Bars: per cent of the mentions whose antecedent a method finds. Types that do not occur have no bar and say n = 0."""
    words, table = style.words, run.table("coreference")
    sizes = {"all": int(table["n"][0]), **present(run.facts.coreference, "coreference").n}
    groups = [words("figure.coreference.group", mention=words.name("mention", name), n=f"{sizes[name]:,}") for name in GROUPS]
    best = next(row for row in table.rows() if row["method"] == "best head")
    figure = go.Figure()
    for row in table.rows():
        method, values = str(row["method"]), [float(row[name]) for name in GROUPS]
        name = _label(words, row)
        figure.add_bar(
            x=groups,
            y=[None if math.isnan(value) else value for value in values],
            name=name,
            marker={
                "color": GREYS.get(method, style.head_colour(int(best["head"]))),
                "pattern": {
                    "shape": "/" if "held out" in method else "",
                    "fillmode": "overlay",  # over the head's colour, not in its place
                    "fgcolor": "#ffffff",
                    "fgopacity": 0.6,
                    "size": 6,
                },
            },
            text=["" if math.isnan(value) else f"{value:.1f}" for value in values],
            textposition="outside",
            textfont={"size": 12, "color": style.theme.ink},
            cliponaxis=False,
            hovertemplate=f"{name}: %{{y:.1f}} %<extra></extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25, bargroupgap=0.08)
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title_text=style.label("correct"), range=[0, 105], tickvals=list(range(0, 101, 20)))
    legend = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "bgcolor": "rgba(0,0,0,0)"}
    return finish(figure, run, style, words("figure.coreference.heading"), height=460, legend=legend, margin={"b": 110})


def _label(words: Words, row: dict[str, Cell]) -> str:
    """A method; of a head, which one."""
    method = words.name("method", str(row["method"]))
    return method if math.isnan(float(row["layer"])) else f"{method}, {HeadRef('', int(row['layer']), int(row['head']))}"


FIGURE = Figure("coreference", "coreference", "100 · |{m : argmax_{a < m} α_h(m, a) ∈ A(m)}| / |{m}|", draw)
