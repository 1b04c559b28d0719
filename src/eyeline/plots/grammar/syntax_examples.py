"""Where the best head of each relation is most sure: its attention under the words, the gold arcs in red over them."""

from __future__ import annotations

import json
import unicodedata
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.plots.style import GOLD, INK, MONO, QUIET, head_colour, plain, styled
from eyeline.results.run import Run
from eyeline.results.table import Cell

#: Attention below this is not drawn; the rest in so many shades.
LEAST, SHADES = 0.05, 5
#: Points of an arc.
POINTS = 15
#: Characters on both sides of the longest sentence, for what stands at the left.
MARGIN = 9


def syntax_examples(run: Run) -> go.Figure:
    """Two sentences of one relation at a time; a menu chooses the relation."""
    rows = list(run.table("syntax_examples").rows())
    relations = list(dict.fromkeys(str(row["relation"]) for row in rows))
    at_once = max(sum(row["relation"] == name for row in rows) for name in relations)
    figure = make_subplots(at_once, 1, vertical_spacing=0.02)
    owners: list[str] = []  # the relation of each trace
    longest = max(_places(json.loads(str(row["words"])))[1] for row in rows)
    for name in relations:
        for panel, row in enumerate(one for one in rows if one["relation"] == name):
            for trace in _traces(row, longest, visible=name == relations[0]):
                figure.add_trace(trace, row=panel + 1, col=1)
                owners.append(name)
    figure.update_xaxes(visible=False, range=[0, longest], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-1.15, 1.15], fixedrange=True)
    buttons = [{"label": plain(name), "method": "restyle", "args": ["visible", [owner == name for owner in owners]]} for name in relations]
    menu = {"buttons": buttons, "x": 1, "xanchor": "right", "y": 1, "yanchor": "bottom", "pad": {"b": 12}, "showactive": True}
    return styled(
        figure,
        run,
        "Attention of the best head for a relation, where it is most sure",
        height=130 + 230 * at_once,
        updatemenus=[menu],
        showlegend=False,
        margin={"l": 24, "r": 24, "t": 112, "b": 16},
        hovermode="closest",
    )


def _traces(row: dict[str, Cell], width: float, *, visible: bool) -> list[go.Scatter]:
    words = json.loads(str(row["words"]))
    weights = np.array(json.loads(str(row["weights"])))  # [from, to]
    centres, length = _places(words)
    centres = centres + MARGIN + (width - length) / 2
    reach = max(1.0, float(np.abs(centres[:, None] - centres[None]).max()))
    shared: dict[str, Any] = {"visible": visible, "showlegend": False}
    colour = head_colour(int(row["head"]))
    found = []
    levels: list[tuple[list[float | None], list[float | None]]] = [([], []) for _ in range(SHADES)]
    ends: dict[str, list[Any]] = {"x": [], "y": [], "size": [], "text": []}
    for i, j in np.argwhere(weights >= LEAST):
        if i == j:
            continue
        weight = float(weights[i, j])
        x, y = _arc(centres[i], centres[j], reach, -1)
        level = levels[min(SHADES - 1, int(weight * SHADES))]
        level[0].extend([*x, None])
        level[1].extend([*y, None])
        ends["x"].append(x[POINTS // 2])
        ends["y"].append(y[POINTS // 2])
        ends["text"].append(f"{plain(words[i])} → {plain(words[j])}: {weight:.3f}")
    for number, (xs, ys) in enumerate(levels):
        share = (number + 1) / SHADES
        line = {"color": colour, "width": 0.5 + 3 * share}
        found.append(go.Scatter(x=xs, y=ys, mode="lines", line=line, opacity=0.25 + 0.75 * share, hoverinfo="skip", **shared))
    hover = {"size": 14, "color": colour, "opacity": 0}
    found.append(go.Scatter(x=ends["x"], y=ends["y"], mode="markers", marker=hover, text=ends["text"], hoverinfo="text", **shared))
    gold_x: list[float | None] = []
    gold_y: list[float | None] = []
    gold = json.loads(str(row["gold"]))
    for dependent, head in gold:
        if head >= 0:
            x, y = _arc(centres[dependent], centres[head], reach, 1)
            gold_x.extend([*x, None])
            gold_y.extend([*y, None])
    line = {"color": GOLD, "width": 2}
    found.append(go.Scatter(x=gold_x, y=gold_y, mode="lines", line=line, hoverinfo="skip", name="gold", **shared))
    marked = {word for arc in gold for word in arc}
    colours = [GOLD if place in marked else INK for place in range(len(words))]
    text = {"family": MONO, "size": 12, "color": colours}
    shown = [plain(word) for word in words]
    found.append(go.Scatter(x=centres, y=[0] * len(words), mode="text", text=shown, textfont=text, hoverinfo="skip", **shared))
    sides = {"color": [GOLD, colour], "size": 12}
    labels = ["gold", f"L{row['layer']}·H{row['head']}"]
    found.append(
        go.Scatter(
            x=[0, 0], y=[0.4, -0.4], mode="text", text=labels, textposition="middle right", textfont=sides, hoverinfo="skip", **shared
        )
    )
    caption = f"{plain(str(row['relation']))}, {str(row['direction']).replace('-', ' ')} · {plain(str(row['sentence']))}"
    quiet = {"size": 12, "color": QUIET}
    found.append(
        go.Scatter(x=[0], y=[1.05], mode="text", text=[caption], textposition="middle right", textfont=quiet, hoverinfo="skip", **shared)
    )
    return found


def _places(words: list[str]) -> tuple[np.ndarray, float]:
    """The middle of each word on a line of text, and the length of the line, in characters; wide ones count twice."""
    lengths = np.array([sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in word) for word in words], dtype=float)
    starts = np.concatenate([[0], np.cumsum(lengths + 1.5)[:-1]])
    return starts + lengths / 2, float(lengths.sum() + 1.5 * (len(words) - 1) + 2 * MARGIN)


def _arc(start: float, end: float, reach: float, side: int) -> tuple[list[float], list[float]]:
    """Half an ellipse over (side 1) or under (-1) the words, higher the further it reaches."""
    angles = np.linspace(np.pi, 0, POINTS)
    height = 0.2 + 0.65 * abs(end - start) / reach
    x = (start + end) / 2 + np.cos(angles) * (end - start) / 2
    y = side * (0.12 + height * np.sin(angles))
    return x.round(3).tolist(), y.round(3).tolist()
