"""Which method finds antecedents: rules beside the best head, by the type of mention."""

from __future__ import annotations

import math

import plotly.graph_objects as go

from eyeline.plots.style import HAIRLINE, head_colour, styled
from eyeline.results.facts import present
from eyeline.results.run import Run

#: Rules are grey, the better the darker; a head has its own colour.
GREYS = {"nearest": "#c3c9d2", "head match": "#939ba8", "rule-based": "#5b6472"}
TYPES = ("all", "pronoun", "proper", "nominal")
SAID = {"all": "all mentions", "pronoun": "pronouns", "proper": "proper names", "nominal": "other nouns"}


def coreference(run: Run) -> go.Figure:
    """Bars: per cent of the mentions whose antecedent a method finds. Types that do not occur have no bar and say n = 0."""
    table = run.table("coreference")
    sizes = {"all": int(table["n"][0]), **present(run.facts.coreference, "coreference").n}
    groups = [f"{SAID[name]}<br>n = {sizes[name]:,}" for name in TYPES]
    best = next(row for row in table.rows() if row["method"] == "best head")
    figure = go.Figure()
    for row in table.rows():
        method, values = str(row["method"]), [float(row[name]) for name in TYPES]
        name = f"{method}, L{int(row['layer'])}·H{int(row['head'])}" if not math.isnan(float(row["layer"])) else method
        figure.add_bar(
            x=groups,
            y=[None if math.isnan(value) else value for value in values],
            name=name,
            marker={
                "color": GREYS.get(method, head_colour(int(best["head"]))),
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
            textfont={"size": 12},
            cliponaxis=False,
            hovertemplate=f"{name}: %{{y:.1f}} %<extra></extra>",
        )
    figure.update_layout(barmode="group", bargap=0.25, bargroupgap=0.08)
    figure.update_xaxes(showgrid=False)
    figure.update_yaxes(title_text="right (%)", range=[0, 105], tickvals=list(range(0, 101, 20)))
    legend = {"orientation": "h", "x": 0, "y": -0.24, "yanchor": "top", "bordercolor": HAIRLINE, "bgcolor": "rgba(0,0,0,0)"}
    return styled(
        figure, run, "How often a mention's antecedent is found", height=460, legend=legend, margin={"l": 64, "r": 24, "t": 96, "b": 110}
    )
