"""A figure of a run, and what figures share: their look, tables by stack, grids of heads, heads to click, and arcs over words."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import plotly.graph_objects as go

from eyeline.heads import STACKS, HeadRef
from eyeline.look.palette import DARK_PAGE, HEAD_COLOURS, LIGHT_PAGE, SIGNED, SIGNED_DARK, head_colour, role_colour
from eyeline.measure.runs.run import AMOUNTS, Run
from eyeline.measure.runs.table import Table
from eyeline.text.tokenized import columns, printable
from eyeline.words import Words


@dataclass(frozen=True)
class Figure:
    """One figure of a run, declared in the module that draws it.

    name        of the figure; its messages are those under `figure.NAME` in eyeline/words
    table       the table that it draws; of an encoder-decoder model, the tables of its stacks
    formula     what is drawn, in symbols; `_x` and `_{xyz}` are subscripts. `symbols` explains the letters
    draw        (run, style, stack) → Plotly figure; the stack is empty for models with one stack
    clickable   what a reader can click to choose a head: single points, cells of a grid, or nothing
    colours     what the colour of a head can mean in this figure, the default first; nothing: one meaning that is not chosen
    """

    name: str
    table: str
    formula: str
    draw: Callable[[Run, Style, str], go.Figure]
    clickable: Literal["points", "cells", ""] = ""
    colours: Callable[[Run], list[str]] | None = None

    def title(self, words: Words, stack: str = "") -> str:
        """The title above the figure on a page.

        >>> Figure("head_map", "head_map", "", lambda *_: None).title(Words(), "cross")
        'Which heads are alike: cross attention'
        """
        title = words(f"figure.{self.name}.title")
        return f"{title}: {words.name('stack', stack)}" if stack else title

    def meaning(self, words: Words) -> str:
        """How to read it."""
        return words(f"figure.{self.name}.meaning")

    def symbols(self, words: Words) -> str:
        """What the letters of the formula stand for."""
        return words(f"figure.{self.name}.symbols")


SUBSCRIPT = re.compile(r"_(?:\{([^}]*)\}|(\w))")


def formula_html(formula: str) -> str:
    """A formula with its subscripts, `_x` and `_{xyz}`, as HTML.

    >>> formula_html("H_h(q) = Σ_{k < q} α")
    'H<sub>h</sub>(q) = Σ<sub>k &lt; q</sub> α'
    """
    return SUBSCRIPT.sub(lambda match: f"<sub>{match[1] or match[2]}</sub>", html.escape(formula, quote=False))


# ---- How every Plotly figure looks
# Its language, its colours on a light or a dark page, and the line that says what its numbers come from.


Scale = tuple[tuple[float, str], ...]

#: For lines that are not heads: the first colours of the palette.
SERIES = HEAD_COLOURS[:12]

INK, GROUND, HAIRLINE, QUIET = LIGHT_PAGE.text, LIGHT_PAGE.ground, LIGHT_PAGE.hairline, LIGHT_PAGE.muted

ACCENT, GOLD, ORANGE = LIGHT_PAGE.accent, LIGHT_PAGE.pair, LIGHT_PAGE.positive

MONO = "ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', 'Noto Sans Mono CJK JP', monospace"

SANS = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, 'Noto Sans CJK JP', 'Noto Sans CJK KR', sans-serif"

#: How the name of a corpus begins if the probes were scored on one half of it.
OTHER_HALF = "the other half of "

#: Pixels that a heading takes above a figure, with the line under it.
HEADING = 72


@dataclass(frozen=True)
class Theme:
    """The colours of a page.

    sequential   numbers from 0 upwards: from the ground to the strongest colour
    signed       numbers of both signs: blue negative, the ground at zero, orange positive; always with the same range on both sides
    outline      the line around a dot, visible against the ground whatever the colour of the dot
    button       of a button, and the ink on it; Plotly makes the chosen button nearly white on every page
    """

    ink: str
    ground: str
    hairline: str
    quiet: str
    outline: str
    gold: str
    button: str
    button_ink: str
    sequential: Scale
    signed: Scale


LIGHT = Theme(
    ink=INK, ground=GROUND, hairline=HAIRLINE, quiet=QUIET, outline=GROUND, gold=GOLD, button=GROUND, button_ink=INK,
    sequential=((0.0, "#f7fbff"), (0.25, "#c6dbef"), (0.5, "#6baed6"), (0.75, "#2171b5"), (1.0, "#08306b")),
    signed=tuple(zip((0.0, 0.5, 1.0), SIGNED, strict=True)),
)  # fmt: skip

DARK = Theme(
    ink=DARK_PAGE.text, ground=DARK_PAGE.ground, hairline=DARK_PAGE.hairline, quiet=DARK_PAGE.muted, outline=DARK_PAGE.muted,
    gold=DARK_PAGE.pair, button=DARK_PAGE.muted, button_ink=DARK_PAGE.ground,
    sequential=((0.0, "#141922"), (0.35, "#1e3a75"), (0.7, "#4f86ff"), (1.0, "#dbe7ff")),
    signed=tuple(zip((0.0, 0.5, 1.0), SIGNED_DARK, strict=True)),
)  # fmt: skip

ENGLISH = Words()


@dataclass(frozen=True)
class Style:
    """How the page that shows a figure wants it drawn.

    words       the messages of the page's language
    dark        whether the page is dark
    titled      whether the figure carries its own heading; False where the page has one already
    clickable   whether cells of grids get points on top that can be clicked, which Streamlit needs
    colour      what the colour of a head means, of the `colours` of the figure; empty: the figure's default
    """

    words: Words = ENGLISH
    dark: bool = False
    titled: bool = True
    clickable: bool = False
    colour: str = ""

    @property
    def theme(self) -> Theme:
        return DARK if self.dark else LIGHT

    def head_colour(self, head: int) -> str:
        """The colour of a head on this page, as the views have it."""
        return head_colour(head, dark=self.dark)

    def role_colour(self, role: str) -> str:
        """The colour of a role on this page."""
        return role_colour(role, dark=self.dark)

    def label(self, key: str, **values: Any) -> str:
        """A message that several figures use."""
        return self.words(f"figure.label.{key}", **values)

    def in_stack(self, stack: str, label: str) -> str:
        """A label with the name of its stack before it, where there are several stacks."""
        return self.label("in_stack", stack=self.words.name("stack", stack), label=label) if stack else label


def provenance(run: Run, words: Words) -> str:
    """Model, corpus, how much of it."""
    counts = run.facts.counts
    shown = [name for name in AMOUNTS if name in counts and not (name == "documents" and "texts" in counts)]
    corpus = run.facts.corpus.name
    if corpus.startswith(OTHER_HALF):
        corpus = words("count.other_half", corpus=corpus.removeprefix(OTHER_HALF))
    amounts = [words.count(run.facts.options.text_noun if name == "texts" else name, counts[name]) for name in shown]
    return f"{run.facts.model.name} · {corpus} · {', '.join(amounts)}"


def finish(figure: go.Figure, run: Run, style: Style, heading: str, *, height: int = 420, above: int = 24, **layout: Any) -> go.Figure:
    """Give a figure its heading, its provenance beneath, and the look of the page.

    height   of the whole figure with its heading, in pixels
    above    pixels between the heading and the axes, for titles of panels, legends and buttons
    """
    theme, margin = style.theme, {"l": 64, "r": 24, "b": 56, **layout.pop("margin", {})}
    title = {
        "text": f"{plain(heading)}<br><span style='font-size:12px;color:{theme.quiet}'>{plain(provenance(run, style.words))}</span>",
        "font": {"size": 20, "color": theme.ink},
        "x": 0,
        "xref": "container",
        "xanchor": "left",
        "y": 1,
        "yref": "container",
        "yanchor": "top",
        "pad": {"l": 16, "t": 26},  # to the baseline of the heading
    }
    figure.update_layout(
        title=title if style.titled else None,
        font={"family": SANS, "size": 12, "color": theme.ink},
        paper_bgcolor=theme.ground,
        plot_bgcolor=theme.ground,
        height=height if style.titled else height - HEADING,
        margin={**margin, "t": above + (HEADING if style.titled else 0)},
        hoverlabel={"font": {"family": SANS, "size": 12}, **({"bgcolor": DARK_PAGE.faint} if style.dark else {})},
        colorway=list(SERIES),
        legend={"title": {"font": {"size": 12}}, "itemsizing": "constant"},
    )
    lines: dict[str, Any] = {
        "gridcolor": theme.hairline,
        "zeroline": False,
        "title_standoff": 10,
        "title_font_size": 12,
        "automargin": True,
    }
    figure.update_xaxes(showline=True, linecolor=theme.hairline, ticks="outside", tickcolor=theme.hairline, **lines)
    figure.update_yaxes(showline=False, ticklabelstandoff=4, **lines)
    figure.update_layout(**layout)
    return figure


def colour_bar(title: str, **look: Any) -> dict[str, Any]:
    """A colour bar with its title a line above the highest number: beside the bar, or right over it, the two would overlap."""
    text = f"{title}<br><span style='font-size:16px'>\u00a0</span>"
    return {"title": {"text": text, "side": "top", "font": {"size": 12}}, "thickness": 14, "outlinewidth": 0, **look}


def buttons(theme: Theme, **look: Any) -> dict[str, Any]:
    """The look of a row of buttons of a figure."""
    return {"bgcolor": theme.button, "bordercolor": theme.hairline, "font": {"color": theme.button_ink}, "showactive": True, **look}


def layer_step(n_layers: int) -> int:
    """A tick for each layer where they fit, else for every second, fifth or tenth."""
    return next((step for step in (1, 2, 5, 10) if n_layers / step <= 13), 20)


def plain(text: str) -> str:
    """Text as Plotly shows it and nothing else: it reads some tags, and names and words of a text are data, never markup.

    >>> plain("<b>R&D</b>")
    '&lt;b&gt;R&amp;D&lt;/b&gt;'
    """
    return printable(text).replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


# ---- Tables by stack


def tables_of(run: Run, name: str) -> dict[str, Table]:
    """The tables of that name, by stack: one without a stack, or one for each stack (head_map_cross). Empty tables are left out."""
    tables = {"": run.tables[name]} if name in run.tables else {}
    tables |= {stack: run.tables[f"{name}_{stack}"] for stack in STACKS if f"{name}_{stack}" in run.tables}
    return {stack: table for stack, table in tables.items() if len(table)}


def table_of(run: Run, name: str, stack: str) -> tuple[str, Table]:
    """The table of one stack, and the stack: the one that is named, or the first."""
    tables = tables_of(run, name)
    stack = stack or next(iter(tables))
    return stack, tables[stack]


def stacks_in(table: Table) -> list[str]:
    """The stacks in the column of a table, in order; one empty name where there is no such column."""
    return list(dict.fromkeys(map(str, table.columns["stack"]))) if "stack" in table.columns else [""]


def part_of(table: Table, stack: str) -> Table:
    """The rows of one stack; all rows where the table has no such column."""
    return table.where(stack=stack) if stack else table


# ---- A number of every head as a grid


def head_grid(table: Table, column: str, style: Style, *, hover: str, stack: str = "", **look: Any) -> go.Heatmap:
    """A heat map of one column of a table with layer and head; cells of heads that the table does not have stay empty.

    The text of each cell is the label of its head, with its stack: a click reads it.
    """
    layers, heads = (sorted({int(value) for value in table[name]}) for name in ("layer", "head"))
    values = np.full((len(layers), len(heads)), np.nan)  # [layer, head]
    for layer, head, value in zip(table["layer"], table["head"], table[column].astype(float), strict=True):
        values[layers.index(int(layer)), heads.index(int(head))] = value
    labels = [[HeadRef(stack, layer, head).full_label for head in heads] for layer in layers]
    template = f"%{{text}}: {hover}<extra></extra>"
    look = {"colorscale": style.theme.sequential, "xgap": 1, "ygap": 1, "hoverongaps": False, **look}
    return go.Heatmap(z=values.round(4), x=heads, y=layers, text=labels, hovertemplate=template, **look)


def grid_axes(figure: go.Figure, style: Style, table: Table) -> None:
    """Axes for grids: layers down with their title at the left column, heads across."""
    layers, heads = (sorted({int(value) for value in table[name]}) for name in ("layer", "head"))
    figure.update_yaxes(autorange="reversed", showgrid=False, **_ticks(layers, max(1, len(layers) // 12)))
    figure.update_xaxes(title_text=style.label("head"), showgrid=False, **_ticks(heads, 1 if len(heads) <= 12 else 4))


def _ticks(numbers: list[int], step: int) -> dict[str, Any]:
    """Every step-th number; where some were left out, only numbers that the grid has.

    >>> _ticks([0, 1, 2], 1), _ticks([3, 5], 1)
    ({'dtick': 1}, {'tickvals': [3, 5]})
    """
    return {"dtick": step} if numbers == list(range(len(numbers))) else {"tickvals": numbers[::step]}


# ---- Heads that can be clicked
# Points that carry a head, and grids, where every cell gets an invisible point for its frame.


def with_clickable_cells(figure: go.Figure) -> go.Figure:
    """The figure, with invisible points over the cells of its heatmaps, whose texts are labels of heads.

    A click goes to the cell itself, which may be smaller than any point; the browser finds by the points where to light a head.
    """
    points = [(index, _points(trace)) for index, trace in enumerate(figure.data) if isinstance(trace, go.Heatmap)]
    for index, trace in points:
        figure.add_trace(trace)
        _fix_axes(figure, figure.data[index])
    for menu in figure.layout.updatemenus:
        for button in menu.buttons:
            visible = list(button.args[0]["visible"])
            button.args[0]["visible"] = [*visible, *(visible[index] for index, _ in points)]
    return figure


def _fix_axes(figure: go.Figure, heatmap: go.Heatmap) -> None:
    """End the axes where the cells end: Plotly would leave space around points. Keep the order of names: later traces could change it."""
    for name, values in ((heatmap.xaxis or "x", heatmap.x), (heatmap.yaxis or "y", heatmap.y)):
        axis = figure.layout[f"{name[0]}axis{name[1:]}"]
        if isinstance(values[0], str):
            axis.update(categoryorder="array", categoryarray=list(dict.fromkeys(values)))
            values = range(len(axis.categoryarray))
        if axis.range is None:
            ends = [float(min(values)) - 0.5, float(max(values)) + 0.5]
            axis.update(range=ends[::-1] if axis.autorange == "reversed" else ends, autorange=False)


def _points(heatmap: go.Heatmap) -> go.Scatter:
    points: dict[str, list[Any]] = {"x": [], "y": [], "customdata": []}
    for i, row in enumerate(heatmap.y):
        for j, column in enumerate(heatmap.x):
            value = heatmap.z[i][j]
            if value is not None and value == value:
                points["x"].append(column)
                points["y"].append(row)
                points["customdata"].append(head_data(HeadRef.parse(heatmap.text[i][j])))
    return go.Scatter(
        **points, mode="markers", hoverinfo="skip", showlegend=False, visible=heatmap.visible, xaxis=heatmap.xaxis, yaxis=heatmap.yaxis,
        marker={"size": 16, "symbol": "square", "opacity": 0},
    )  # fmt: skip


def head_data(head: HeadRef) -> list[Any]:
    """The customdata of a point that stands for a head."""
    return [head.layer, head.head, head.stack]


def head_from(data: Any) -> HeadRef | None:
    """The head of a point that was clicked, None where it stands for no head.

    >>> head_from([3, 7, "cross"]), head_from([3, 7]), head_from([3, -7]), head_from(None)
    (HeadRef(stack='cross', layer=3, head=7), HeadRef(stack='', layer=3, head=7), None, None)
    """
    if not isinstance(data, list | tuple) or len(data) < 2 or not all(isinstance(n, int | float) and 0 <= n < 1e6 for n in data[:2]):
        return None
    return HeadRef(str(data[2]) if len(data) > 2 else "", int(data[0]), int(data[1]))


# ---- The chosen head in a figure of heads by heads


#: Widths of the two lines of a frame in pixels: the page colour below and the ink above, to show on any colour.
BELOW, ABOVE = 2.5, 1


def with_lit_row(figure: go.Figure, label: str, theme: Theme) -> go.Figure:
    """A copy of a figure of heads by heads, with frames around the row and the column of one head; the figure itself where it has none.

    The app lights points and cells in the browser.
    """
    grid = next((trace for trace in figure.data if isinstance(trace, go.Heatmap)), None)
    if grid is None or grid.y is None or label not in list(grid.y):
        return figure
    copy, index, end = go.Figure(figure), list(grid.y).index(label), len(grid.y) - 0.5
    band, whole = (index - 0.5, index + 0.5), (-0.5, end)
    for width, colour in ((BELOW, theme.ground), (ABOVE, theme.ink)):
        for (x0, x1), (y0, y1) in ((whole, band), (band, whole)):
            copy.add_shape(type="rect", x0=x0, x1=x1, y0=y0, y1=y1, line={"color": colour, "width": width})
    return copy.add_annotation(
        text=label, xref="x domain", x=1, y=index, xanchor="left", xshift=4, showarrow=False, font={"color": theme.ink}
    )


# ---- Words on a line, and arcs between them; lengths are in characters


def centres_of(words: Sequence[str], gap: float, margin: float) -> tuple[np.ndarray, float]:
    """The middle of each word, and the length of the line; wide characters count twice.

    gap: between two words; margin: at both ends of the line

    >>> centres, length = centres_of(["The", "cat", "猫"], gap=1, margin=2)
    >>> centres.tolist(), length
    ([3.5, 7.5, 11.0], 14.0)
    """
    lengths = np.array([columns(word) for word in words], dtype=float)
    starts = np.concatenate([[0], np.cumsum(lengths + gap)[:-1]])
    return margin + starts + lengths / 2, float(lengths.sum() + gap * (len(words) - 1) + 2 * margin)


def arc(start: float, end: float, *, height: float, foot: float, side: int, points: int) -> tuple[list[float], list[float]]:
    """Half an ellipse over (side 1) or under (-1) the words; foot: the distance of its ends from the line.

    >>> arc(0, 4, height=1, foot=0.5, side=1, points=3)
    ([0.0, 2.0, 4.0], [0.5, 1.5, 0.5])
    """
    angles = np.linspace(np.pi, 0, points)
    x = (start + end) / 2 + np.cos(angles) * (end - start) / 2
    y = side * (foot + height * np.sin(angles))
    return x.round(3).tolist(), y.round(3).tolist()
