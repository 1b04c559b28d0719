"""One look for every Plotly figure: a calm page, loud data, and a line that says what the numbers come from."""

from __future__ import annotations

from typing import Any

import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from eyeline.results.run import Run, amounts
from eyeline.text.printable import printable

INK, GROUND, HAIRLINE, QUIET = "#1a1d23", "#ffffff", "#d9dde3", "#5b6472"
ACCENT, GOLD = "#2563eb", "#d00000"
#: A head has the colour of its index modulo 12 in every view, plot and table.
HEADS = (
    "#9640ff", "#ba6412", "#07c7c6", "#117068", "#a79bff", "#6f8a5c", "#5b8eb2", "#a7ba04", "#b0042a", "#e08995", "#ea2695", "#a00095",
)  # fmt: skip
MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace"
SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def head_colour(head: int) -> str:
    return HEADS[head % len(HEADS)]


def layer_colours(n_layers: int) -> list[str]:
    """Viridis from the first layer to the last."""
    return [str(colour) for colour in sample_colorscale("Viridis", [i / max(1, n_layers - 1) for i in range(n_layers)])]


def provenance(run: Run) -> str:
    """Model, corpus, how much of it."""
    return f"{run.facts.model.name} · {run.facts.corpus.name} · {amounts(run)}"


def styled(figure: go.Figure, run: Run, title: str, *, height: int = 420, **layout: Any) -> go.Figure:
    """Give a figure its title, its provenance beneath, and the common look."""
    figure.update_layout(
        title={
            "text": f"{plain(title)}<br><span style='font-size:12px;color:{QUIET}'>{plain(provenance(run))}</span>",
            "font": {"size": 20, "color": INK},
            "x": 0,
            "xref": "container",
            "xanchor": "left",
            "y": 1,
            "yref": "container",
            "yanchor": "top",
            "pad": {"l": 16, "t": 26},  # to the line on which the letters of the title stand
        },
        font={"family": SANS, "size": 12, "color": INK},
        paper_bgcolor=GROUND,
        plot_bgcolor=GROUND,
        height=height,
        margin={"l": 64, "r": 24, "t": 96, "b": 56},
        hoverlabel={"font": {"family": SANS, "size": 12}},
        colorway=list(HEADS),
        legend={"title": {"font": {"size": 12}}, "itemsizing": "constant"},
    )
    figure.update_xaxes(showline=True, linecolor=HAIRLINE, gridcolor=HAIRLINE, zeroline=False, ticks="outside", tickcolor=HAIRLINE)
    figure.update_yaxes(showline=False, gridcolor=HAIRLINE, zeroline=False)
    figure.update_layout(**layout)
    return figure


#: What each colour of a light figure becomes on a dark page.
DARK = {INK: "#e6e8ec", GROUND: "#0f1115", HAIRLINE: "#2a2f37", QUIET: "#9aa3b0"}

#: Numbers of a heatmap on a dark page: from the ground to light; signed ones with the ground at zero.
DARK_SCALE = ((0.0, "#141922"), (0.35, "#1e3a75"), (0.7, "#4f86ff"), (1.0, "#dbe7ff"))
DARK_SIGNED = ((0.0, "#6b9bff"), (0.5, "#0f1115"), (1.0, "#fb8b4b"))


def in_dark(figure: go.Figure) -> go.Figure:
    """The same figure for a dark page, changed in place: ink, ground and hairlines; the colours of heads and layers stay."""

    def turn(value: Any) -> Any:
        if isinstance(value, dict):
            return {name: turn(one) for name, one in value.items()}
        if isinstance(value, list | tuple):
            return type(value)(map(turn, value)) if not value or not isinstance(value[0], int | float) else value
        if isinstance(value, str):
            for light, dark in DARK.items():
                value = value.replace(light, dark)
        return value

    figure.update_layout(turn(figure.layout.to_plotly_json()))
    for trace in figure.data:
        for part in ("line", "marker", "textfont", "error_x"):
            if part in trace:
                trace[part] = turn(trace[part].to_plotly_json())
        if "marker" in trace and "line" in trace.marker and trace.marker.line.color == DARK[GROUND]:
            trace.marker.line.color = DARK[QUIET]  # the first layers are nearly as dark as the page
        if trace.type == "heatmap" and trace.coloraxis is None:
            trace.colorscale = DARK_SIGNED if (trace.zmin or 0) < 0 else DARK_SCALE
    if figure.layout.coloraxis.colorscale:
        figure.layout.coloraxis.colorscale = DARK_SCALE
    figure.update_layout(hoverlabel={"bgcolor": "#191d24"})
    return figure


def plain(text: str) -> str:
    """Plotly reads some tags in titles and texts: names and words are data, never markup, and what cannot be printed is shown.

    >>> plain("<b>R&D</b>")
    '&lt;b&gt;R&amp;D&lt;/b&gt;'
    """
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def stacks_of(table: Any) -> list[str]:
    """The stacks in a table, in order; one empty name where there is but one."""
    return list(dict.fromkeys(table.columns["stack"])) if "stack" in table.columns else [""]
