"""The best head on a text: arcs from each mention's head word to the word that it attends to most, red where that is an antecedent."""

from __future__ import annotations

import unicodedata
from dataclasses import dataclass

import plotly.graph_objects as go

from eyeline.plots.style import GOLD, INK, MONO, QUIET, plain, styled
from eyeline.results.facts import present
from eyeline.results.run import Run
from eyeline.results.table import Cell, Table
from eyeline.text.printable import printable

WRONG = "#8a93a1"
#: Characters on a line, and the pixels of a character and of a line with the arcs above it.
COLUMNS, CHARACTER, LINE = 84, 7.9, 58
SIDE = 24


@dataclass(frozen=True)
class _Word:
    """Where a word stands: its middle, in characters; its line, from 0 downwards."""

    text: str
    middle: float
    line: int


def coreference_example(run: Run) -> go.Figure:
    """The words of a window, in lines, and an arc for every mention that has an antecedent in it."""
    table, shown = run.table("coreference_example"), present(run.facts.coreference, "coreference").example
    words = lay_out([printable(str(word)) for word in table.columns["word"]])
    told = {int(row["place"]): row for row in table.rows() if row["mention"] != ""}
    ends = {int(row[name]) for row in told.values() for name in ("attended", "antecedent")}
    figure = go.Figure()
    for row in told.values():
        start = words[int(row["place"])]
        right = bool(row["right"])
        figure.add_shape(_arc(start, words[int(row["attended"])], GOLD if right else WRONG, 1 + 4 * float(row["weight"]) ** 0.5))
        if not right:
            figure.add_shape(_arc(start, words[int(row["antecedent"])], GOLD, 1, dash="dot"))
    marked = set(told) | ends
    for places, colour, weight in (
        ([i for i in range(len(words)) if i not in marked], QUIET, "normal"),
        (sorted(marked), INK, "bold"),
    ):
        figure.add_scatter(
            x=[words[i].middle for i in places],
            y=[-words[i].line for i in places],
            mode="text",
            text=[plain(words[i].text) for i in places],
            textfont={"family": MONO, "size": 12, "color": colour, "weight": weight},
            hovertext=[_hover(told.get(i), table) for i in places],
            hoverinfo="text",
            showlegend=False,
        )
    for label, colour, dash in (("attends most to its antecedent", GOLD, "solid"), ("attends most to another mention", WRONG, "solid")):
        if any(bool(row["right"]) == (colour == GOLD) for row in told.values()):
            figure.add_scatter(x=[None], y=[None], mode="lines", line={"color": colour, "width": 3, "dash": dash}, name=label)
    if any(not row["right"] for row in told.values()):
        figure.add_scatter(
            x=[None], y=[None], mode="lines", line={"color": GOLD, "width": 1, "dash": "dot"}, name="the antecedent it missed"
        )
    lines = words[-1].line + 1
    title = f"What mentions attend to: L{shown.layer}·H{shown.head} on {printable(shown.document)}"
    figure = styled(
        figure, run, title, height=LINE * (lines + 1) + 150, width=int(COLUMNS * CHARACTER) + 2 * SIDE, autosize=False,
        margin={"l": SIDE, "r": SIDE, "t": 96, "b": 16}, legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, COLUMNS], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-lines + 0.4, 0.9], fixedrange=True)
    return figure


def lay_out(words: list[str]) -> list[_Word]:
    """Words in lines of COLUMNS characters, one space between them; wide characters take two.

    >>> [(word.middle, word.line) for word in lay_out(["The", "cat", "猫"])]
    [(1.5, 0), (5.5, 0), (9.0, 0)]
    """
    found: list[_Word] = []
    column, line = 0, 0
    for word in words:
        text = word if _width(word) <= COLUMNS else word[: COLUMNS // 2 - 1] + "…"
        width = _width(text)
        if column and column + width > COLUMNS:
            column, line = 0, line + 1
        found.append(_Word(text, column + width / 2, line))
        column += width + 1
    return found


def _width(text: str) -> int:
    return sum(2 if unicodedata.east_asian_width(character) in "WF" else 1 for character in text)


def _arc(start: _Word, end: _Word, colour: str, width: float, dash: str = "solid") -> dict[str, object]:
    """Over the words of one line; from line to line, up to the foot of the earlier word."""
    x0, y0, x1 = start.middle, -start.line + 0.16, end.middle
    if start.line == end.line:
        y1, top = y0, y0 + min(0.28 + abs(x0 - x1) / COLUMNS, 0.7) * 0.9
        path = f"M {x0},{y0} C {x0},{top} {x1},{top} {x1},{y1}"
    else:
        y1 = -end.line - 0.16
        bend = max(0.35, (y1 - y0) * 0.5)
        path = f"M {x0},{y0} C {x0},{y0 + bend} {x1},{y1 - bend} {x1},{y1}"
    return {"type": "path", "path": path, "line": {"color": colour, "width": width, "dash": dash}, "opacity": 0.85, "layer": "below"}


def _hover(row: dict[str, Cell] | None, table: Table) -> str:
    if row is None:
        return ""
    words = table.columns["word"]
    attended, antecedent = (printable(str(words[int(row[name])])) for name in ("attended", "antecedent"))
    said = f"{row['mention']} → {attended}: {float(row['weight']):.3f}"
    return plain(said if row["right"] else f"{said}; its antecedent is {antecedent}")
