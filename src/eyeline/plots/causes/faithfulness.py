"""How faithful each quantity is to the model's answers: bars with their standard errors, the most faithful first."""

from __future__ import annotations

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.figure import Figure
from eyeline.plots.style import ACCENT, Style, finish
from eyeline.results.run import Run

PANELS = ("aopc", "comprehensiveness", "sufficiency")
RANDOM = "random"


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """A panel for each measure; a random order is drawn in grey, and as a line through the others."""
    words = style.words
    rows = sorted(run.table("faithfulness").rows(), key=lambda row: float(row["aopc"]))
    names = [_name(style, str(row["method"])) for row in rows]
    titles = [words(f"figure.faithfulness.{panel}") for panel in PANELS]
    figure = make_subplots(rows=1, cols=len(PANELS), shared_yaxes=True, horizontal_spacing=0.04, subplot_titles=titles)
    for column, panel in enumerate(PANELS, 1):
        figure.add_bar(
            x=[float(row[panel]) for row in rows],
            y=names,
            orientation="h",
            error_x={"type": "data", "array": [float(row[f"{panel}_error"]) for row in rows], "thickness": 1, "width": 3},
            marker={"color": [style.theme.quiet if row["method"] == RANDOM else ACCENT for row in rows]},
            hovertemplate="%{y}: %{x:.3f}<extra></extra>",
            showlegend=False,
            row=1,
            col=column,
        )
        for row in rows:
            if row["method"] == RANDOM:
                figure.add_vline(x=float(row[panel]), line={"color": style.theme.quiet, "width": 1, "dash": "dot"}, row=1, col=column)
    figure.update_xaxes(title_text=words("figure.faithfulness.axis"))
    return finish(figure, run, style, words("figure.faithfulness.heading"), height=200 + 26 * len(rows), above=40)


def _name(style: Style, method: str) -> str:
    if method == RANDOM:
        return style.words(f"figure.faithfulness.{RANDOM}")
    return style.words.name("quantity", method.replace("-", "_"))


FIGURE = Figure("faithfulness", "faithfulness", "AOPC = 1/(K+1) · Σ_k ( p(x) − p(x without the first k) )", draw)
