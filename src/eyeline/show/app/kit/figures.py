"""What a page shows and lets a visitor save: figures of a run with what they mean, small tables, and files."""

from __future__ import annotations

import base64
import io
import tempfile
import threading
import zipfile
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from eyeline.figures import figure, record_of
from eyeline.heads import HeadRef
from eyeline.look.palette import head_colour
from eyeline.look.trace import Trace
from eyeline.look.views.graph import attention_graph
from eyeline.look.views.view import View
from eyeline.measure.runs.figure import Style, formula_html, with_lit_row
from eyeline.measure.runs.run import FACTS_FILE, Run
from eyeline.show.app.kit import mounted
from eyeline.show.app.kit.sharing import Cache
from eyeline.text.tokenized import printable
from eyeline.words import Words

# ---- Figures of a run: the chosen head is lit, and a click chooses another


CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False}

#: Drawn figures; the key holds everything that they depend on.
_FIGURES = Cache(96)


def style_of(say: Words) -> Style:
    """Figures in the language and the theme of the page, without headings: the page has them."""
    return Style(say, dark=st.context.theme.type == "dark", titled=False, clickable=True)


def version_of(folder: Path) -> tuple[str, int]:
    """The cache key of a run's pictures: its folder, and when it was written."""
    about = folder / FACTS_FILE
    return str(folder), about.stat().st_mtime_ns if about.is_file() else 0


def show(
    say: Words, run: Run, name: str, folder: Path, choose: Callable[[HeadRef], None], *, lit: HeadRef | None = None, titled: bool = True
) -> None:
    """One figure with its meaning and its formula.

    choose   called with the head that the visitor clicks, before the page is drawn again
    lit      the chosen head: it has a ring in every panel, or a frame around its row and column
    """
    record, stack = record_of(name)
    key = f"figure-{folder.name}-{name}-{say.language}"
    if titled:
        st.subheader(record.title(say, stack), anchor=False)
    hint = say(f"figures.click_{record.clickable}") if record.clickable else ""
    st.caption(("" if say.language == "ja" else " ").join(filter(None, (record.meaning(say), hint))))
    st.html(f'<p class="el-formula"><span>{formula_html(record.formula)}</span> {formula_html(record.symbols(say))}</p>')
    drawing = kept(say, folder, name, lambda style: figure(run, name, style))
    if drawing.layout.updatemenus:
        drawing = _chosen(say, drawing, key)
    if lit is not None and lit.stack == stack and not record.clickable:
        drawing = with_lit_row(drawing, str(lit), style_of(say).theme)
    with st.container(key=f"wide-{name}"):
        st.plotly_chart(drawing, theme=None, key=key, config=CONFIG)
        if record.clickable:
            mounted.heads_of_figure(lit, style_of(say).theme, choose, key=f"eyeline-heads-{key}")


def kept(say: Words, folder: Path, name: str, draw: Callable[[Style], go.Figure]) -> go.Figure:
    """A figure of a run in the language and the theme of the page: drawn once, then kept. It must not be changed."""
    style = style_of(say)
    key = (*version_of(folder), name, say.language, style.dark)
    return _FIGURES.get(key, lambda: draw(style).update_layout(dragmode=False), lambda _: 1)


def _chosen(say: Words, drawing: go.Figure, key: str) -> go.Figure:
    """A copy that shows what the visitor chose by a control of the page: the chosen button of a figure cannot be read on dark."""
    buttons = drawing.layout.updatemenus[0].buttons
    choice = st.segmented_control(
        say("figures.choice"), range(len(buttons)), format_func=lambda index: str(buttons[index].label), default=0, key=f"{key}-choice",
        label_visibility="collapsed", required=True,
    )  # fmt: skip
    copy = go.Figure(drawing)
    for trace, visible in zip(copy.data, buttons[choice or 0].args[0]["visible"], strict=True):
        trace.visible = visible
    copy.layout.updatemenus = ()
    return copy


# ---- Small tables: plain HTML in the common look, aligned numbers, and bars for shares


@dataclass(frozen=True)
class Column:
    """cells: as they are shown. kind: number, token or word. parts: 0 … 1 for each cell, drawn as a bar beside it."""

    title: str
    cells: Sequence[str]
    kind: str = "number"
    parts: Sequence[float] | None = None


def show_table(*columns: Column) -> None:
    """The table on the page."""
    st.html("".join(written(columns)))


def written(columns: Sequence[Column]) -> Iterator[str]:
    """Its HTML. Titles and cells are text, whatever they hold.

    >>> "".join(written([Column("a<b", ["<i>"], "token")])).split("<tbody>")[1]
    '<tr><td class="token">&lt;i&gt;</td></tr></tbody></table>'
    """
    yield '<table class="el-table"><thead><tr>'
    for column in columns:
        yield f'<th class="{_kind(column)}">{escape(printable(column.title))}</th>'
    yield "</tr></thead><tbody>"
    for row in range(len(columns[0].cells)):
        yield "<tr>"
        for column in columns:
            yield f'<td class="{_kind(column)}">{_bar(column, row)}{escape(printable(column.cells[row]))}</td>'
        yield "</tr>"
    yield "</tbody></table>"


def _kind(column: Column) -> str:
    return "bar" if column.parts else column.kind


def _bar(column: Column, row: int) -> str:
    if not column.parts:
        return ""
    return f'<span class="full"><span style="width:{100 * min(1.0, max(0.0, column.parts[row])):.1f}%"></span></span>'


# ---- Files as bytes: written in memory, or in a temporary folder that is deleted at once


#: Weights below this are not drawn: they are hardly visible, and are most of the drawing time.
LEAST_WEIGHT = 0.01

#: matplotlib draws one picture at a time.
_drawing = threading.Lock()

_PICTURES = Cache(32_000_000)


def graph_file(say: Words, trace: Callable[[], Trace], key: tuple[Hashable, ...], ending: str) -> bytes:
    """The attention graph of one head, in its colour; `key`: model, texts, stack, layer and head."""
    stack, layer, head = str(key[-3]), int(str(key[-2])), int(str(key[-1]))

    def draw() -> bytes:
        recorded, colour, language = trace(), head_colour(head), say.language
        with _drawing, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / f"head.{ending}"
            attention_graph(recorded, layer, head, stack=stack, threshold=LEAST_WEIGHT, colour=colour, language=language).save(path)
            return path.read_bytes()

    return _PICTURES.get((key, ending, say.language), draw, len)


def drawn(svg: bytes) -> str:
    """An SVG file as an image's address: in an image nothing can run, whatever the tokens are."""
    return f"data:image/svg+xml;base64,{base64.b64encode(svg).decode()}"


def view_file(say: Words, view: Callable[[], View], ending: str) -> bytes:
    """The view as its reader has set it, as a picture."""
    seen = view()
    with _drawing, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"view.{ending}"
        seen.save(path, language=say.language)
        return path.read_bytes()


def page_file(say: Words, view: View) -> bytes:
    """The view as one page that works offline, in the language of the app."""
    return replace(view, language=say.language).html().encode()


def trace_file(trace: Trace) -> bytes:
    """The trace as `el.open` reads it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "trace.safetensors"
        trace.save(path)
        return path.read_bytes()


def zipped(folder: Path, pattern: str) -> bytes:
    """The plain files of a folder that match, in one archive; links are left out."""
    archived = io.BytesIO()
    with zipfile.ZipFile(archived, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in sorted(folder.glob(pattern)):
            if path.is_file() and not path.is_symlink() and path.resolve().is_relative_to(folder.resolve()):
                archive.write(path, path.relative_to(folder))
    return archived.getvalue()
