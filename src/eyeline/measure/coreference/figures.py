"""Figures of antecedents: which method finds them, the best head on a text, and every head."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from eyeline.heads import HeadRef
from eyeline.measure.coreference.options import CoreferenceFacts
from eyeline.measure.runs.facts import present
from eyeline.measure.runs.figure import MONO, Figure, Style, buttons, colour_bar, finish, grid_axes, head_grid, plain
from eyeline.measure.runs.run import Run
from eyeline.measure.runs.table import Cell, Table
from eyeline.text.corpora.mentions import GROUPS
from eyeline.text.tokenized import columns, printable
from eyeline.words import Words

#: Rules are grey, the better the darker; a head has its own colour.
GREYS = {"nearest": "#c3c9d2", "head match": "#939ba8", "rule-based": "#5b6472"}


def draw_coreference(run: Run, style: Style, stack: str) -> go.Figure:
    """Bars for the rules and the best head: per cent of the mentions whose antecedent a method finds. Types that do not
    occur have no bar and say n = 0."""
    words, table = style.words, run.table("coreference")
    sizes = {"all": int(table["n"][0]), **present(run.facts.of_kind(CoreferenceFacts).coreference, "coreference").n}
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
    return method if math.isnan(float(row["layer"])) else f"{method}, {HeadRef.of_row(row)}"


COREFERENCE_FIGURE = Figure("coreference", "coreference", "100 · |{m : argmax_{a < m} α_h(m, a) ∈ A(m)}| / |{m}|", draw_coreference)


# ---- The best head on a text


#: The colour of arcs to a mention that is no antecedent.
WRONG = "#8a93a1"

#: Characters on a line, and the pixels of a character and of a line with the arcs above it.
COLUMNS, CHARACTER, LINE = 84, 7.9, 58

#: Pixels at the left and the right.
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


def draw_coreference_example(run: Run, style: Style, stack: str) -> go.Figure:
    """The words of a window, in lines, and an arc from each mention to the one that it attends to most, red where that is an antecedent."""
    words, theme = style.words, style.theme
    table, shown = run.table("coreference_example"), present(run.facts.of_kind(CoreferenceFacts).coreference, "coreference").example
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


COREFERENCE_EXAMPLE_FIGURE = Figure("coreference_example", "coreference_example", "argmax_{a < m} α_h(m, a)", draw_coreference_example)


# ---- Every head


def draw_coreference_heads(run: Run, style: Style, stack: str) -> go.Figure:
    """A heatmap of layers and heads for each type of mention, with one scale, the best head of each framed; buttons choose the
    direction where a model looks both ways."""
    words, theme, table = style.words, style.theme, run.table("coreference_heads")
    directions = list(dict.fromkeys(map(str, table.columns["direction"])))
    types = [name for name in GROUPS if not np.isnan(table[name].astype(float)).all()]  # those that occur
    rows = -(-len(types) // 2)
    figure = make_subplots(
        rows, 2, subplot_titles=[words.name("mention", name) for name in types], horizontal_spacing=0.1, vertical_spacing=0.28 / rows,
        specs=[[{} if 2 * row + column < len(types) else None for column in (0, 1)] for row in range(rows)],
    )  # fmt: skip
    largest = float(np.nanmax([table[name].astype(float) for name in types]))
    for direction in directions:
        part, visible = table.where(direction=direction), direction == directions[0]
        for index, name in enumerate(types):
            cell = {"row": index // 2 + 1, "col": index % 2 + 1}
            grid = head_grid(part, name, style, hover="%{z:.1f} %", colorscale=None, coloraxis="coloraxis", visible=visible)
            figure.add_trace(grid, **cell)
            layer, head = np.unravel_index(np.nanargmax(grid.z), grid.z.shape)
            figure.add_scatter(
                x=[grid.x[head]] * 2,
                y=[grid.y[layer]] * 2,
                mode="markers",
                marker={"symbol": "square-open", "size": [17, 13], "color": [theme.ink, theme.ground], "line": {"width": 2}},
                visible=visible,
                showlegend=False,
                hoverinfo="skip",
                **cell,
            )
    axis = {"colorscale": theme.sequential, "cmin": 0, "cmax": max(largest, 1.0), "colorbar": colour_bar(style.label("correct"))}
    figure.update_layout(coloraxis=axis)
    figure.update_yaxes(title_text=style.label("layer"))
    grid_axes(figure, style, table)
    figure.update_annotations(font={"size": 12}, yshift=2)
    if len(directions) > 1:
        figure.update_layout(updatemenus=[_menu(figure, style, directions)])
    return finish(figure, run, style, words("figure.coreference_heads.heading"), height=190 + 285 * rows, above=64)


def _menu(figure: go.Figure, style: Style, directions: list[str]) -> dict[str, object]:
    each = len(figure.data) // len(directions)
    choices = [
        {
            "label": style.words.name("direction", direction),
            "method": "restyle",
            "args": [{"visible": [i // each == number for i in range(len(figure.data))]}],
        }
        for number, direction in enumerate(directions)
    ]
    where = {"type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "pad": {"b": 28}}
    return buttons(style.theme, buttons=choices, **where)


COREFERENCE_HEADS_FIGURE = Figure(
    "coreference_heads",
    "coreference_heads",
    "100 · |{m : argmax_{a < m} α_h(m, a) ∈ A(m)}| / |{m}|",
    draw_coreference_heads,
    clickable="cells",
)
