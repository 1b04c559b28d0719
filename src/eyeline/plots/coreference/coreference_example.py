"""The best head on a text: arcs from each mention to the mention that it attends to most, red where that is an antecedent."""

from __future__ import annotations

from dataclasses import dataclass

import plotly.graph_objects as go

from eyeline.heads import HeadRef
from eyeline.plots.figure import Figure
from eyeline.plots.style import MONO, Style, finish, plain
from eyeline.results.facts import present
from eyeline.results.run import Run
from eyeline.results.table import Cell, Table
from eyeline.text.printable import columns, printable
from eyeline.words import Words

WRONG = "#8a93a1"
#: Characters on a line, and the pixels of a character and of a line with the arcs above it.
COLUMNS, CHARACTER, LINE = 84, 7.9, 58
SIDE = 24


@dataclass(frozen=True)
class _Word:
    """The position of a word: its middle, in characters; its line, from 0 downwards."""

    text: str
    middle: float
    line: int


@dataclass(frozen=True)
class _Arrowhead:
    """The point of an arrow, where an arc meets the word that is attended to."""

    x: float
    y: float
    symbol: str
    colour: str
    size: float


def draw(run: Run, style: Style, stack: str) -> go.Figure:
    """The words of a window, in lines, and an arc for every mention that has an antecedent in it."""
    words, theme = style.words, style.theme
    table, shown = run.table("coreference_example"), present(run.facts.coreference, "coreference").example
    text = lay_out([printable(str(word)) for word in table.columns["word"]])
    mentions = {int(row["index"]): row for row in table.rows() if row["mention"] != ""}
    ends = {int(row[name]) for row in mentions.values() for name in ("attended", "antecedent")}
    figure = go.Figure()
    heads: list[_Arrowhead] = []
    for row in mentions.values():
        start = text[int(row["index"])]
        right = bool(row["right"])
        colour = theme.gold if right else WRONG
        width = 1 + 4 * float(row["weight"]) ** 0.5
        attended, antecedent = text[int(row["attended"])], text[int(row["antecedent"])]
        figure.add_shape(_arc(start, attended, colour, width))
        heads.append(_arrowhead(start, attended, colour, width))
        if not right:
            figure.add_shape(_arc(start, antecedent, theme.gold, 1, dash="dot"))
            heads.append(_arrowhead(start, antecedent, theme.gold, 1))
    _add_arrowheads(figure, heads)
    marked = set(mentions) | ends
    for indices, colour, weight in (
        ([i for i in range(len(text)) if i not in marked], theme.quiet, "normal"),
        (sorted(marked), theme.ink, "bold"),
    ):
        figure.add_scatter(
            x=[text[i].middle for i in indices],
            y=[-text[i].line for i in indices],
            mode="text",
            text=[plain(text[i].text) for i in indices],
            textfont={"family": MONO, "size": 12, "color": colour, "weight": weight},
            hovertext=[_hover(words, mentions.get(i), table) for i in indices],
            hoverinfo="text",
            showlegend=False,
        )
    _legend(figure, style, {bool(row["right"]) for row in mentions.values()})
    lines = text[-1].line + 1
    head = HeadRef("", shown.layer, shown.head)
    heading = words("figure.coreference_example.heading", head=head, document=printable(shown.document))
    figure = finish(
        figure, run, style, heading, height=LINE * (lines + 1) + 150, width=int(COLUMNS * CHARACTER) + 2 * SIDE, autosize=False,
        margin={"l": SIDE, "r": SIDE, "b": 16}, legend={"orientation": "h", "x": 0, "y": 1, "yanchor": "bottom"},
    )  # fmt: skip
    figure.update_xaxes(visible=False, range=[0, COLUMNS], fixedrange=True)
    figure.update_yaxes(visible=False, range=[-lines + 0.4, 0.9], fixedrange=True)
    return figure


def _legend(figure: go.Figure, style: Style, outcomes: set[bool]) -> None:
    """A line for each kind of arc that occurs. outcomes: whether any mention is right, whether any is wrong."""
    gold = style.theme.gold
    kinds = [("right", gold, 3, "solid")] if True in outcomes else []
    kinds += [("wrong", WRONG, 3, "solid"), ("missed", gold, 1, "dot")] if False in outcomes else []
    for key, colour, width, dash in kinds:
        line = {"color": colour, "width": width, "dash": dash}
        figure.add_scatter(x=[None], y=[None], mode="lines", line=line, name=style.words(f"figure.coreference_example.{key}"))


def lay_out(words: list[str]) -> list[_Word]:
    """Words in lines of COLUMNS characters, one space between them; wide characters take two.

    >>> [(word.middle, word.line) for word in lay_out(["The", "cat", "猫"])]
    [(1.5, 0), (5.5, 0), (9.0, 0)]
    """
    positioned: list[_Word] = []
    column, line = 0, 0
    for word in words:
        text = word if columns(word) <= COLUMNS else word[: COLUMNS // 2 - 1] + "…"
        width = columns(text)
        if column and column + width > COLUMNS:
            column, line = 0, line + 1
        positioned.append(_Word(text, column + width / 2, line))
        column += width + 1
    return positioned


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


def _arrowhead(start: _Word, end: _Word, colour: str, width: float) -> _Arrowhead:
    """Downwards onto a word of the same line; upwards to the foot of a word of an earlier one."""
    above = start.line == end.line
    return _Arrowhead(
        end.middle, -end.line + (0.18 if above else -0.18), "triangle-down" if above else "triangle-up", colour, 5 + 1.5 * width
    )


def _add_arrowheads(figure: go.Figure, heads: list[_Arrowhead]) -> None:
    marker = {
        "symbol": [head.symbol for head in heads],
        "size": [head.size for head in heads],
        "color": [head.colour for head in heads],
    }
    figure.add_scatter(
        x=[head.x for head in heads], y=[head.y for head in heads], mode="markers", marker=marker, meta="arrowheads", hoverinfo="skip",
        showlegend=False,
    )  # fmt: skip


def _hover(words: Words, row: dict[str, Cell] | None, table: Table) -> str:
    if row is None:
        return ""
    text = table.columns["word"]
    attended, antecedent = (printable(str(text[int(row[name])])) for name in ("attended", "antecedent"))
    values = {"mention": row["mention"], "attended": attended, "weight": f"{float(row['weight']):.3f}", "antecedent": antecedent}
    return plain(words(f"figure.coreference_example.{'hover' if row['right'] else 'hover_wrong'}", **values))


FIGURE = Figure("coreference_example", "coreference_example", "argmax_{a < m} α_h(m, a)", draw)
