"""The figures of a run on the page, with what they mean; the chosen head is lit, and a click chooses another."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import plotly.graph_objects as go
import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app import mounted
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.sharing.cache import Cache
from eyeline.plots.figures import figure, record_of
from eyeline.plots.formula import formula_html
from eyeline.plots.lit_row import with_lit_row
from eyeline.plots.style import Style
from eyeline.results.folder import FACTS_FILE
from eyeline.results.run import Run

CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False}
#: Drawn figures; the key holds everything that they depend on.
_FIGURES = Cache(96)


def style_of(say: Say) -> Style:
    """Figures in the language and the theme of the page, without headings: the page has them."""
    return Style(say, dark=st.context.theme.type == "dark", titled=False, clickable=True)


def version_of(folder: Path) -> tuple[str, int]:
    """The cache key of a run's pictures: its folder, and when it was written."""
    about = folder / FACTS_FILE
    return str(folder), about.stat().st_mtime_ns if about.is_file() else 0


def show(
    say: Say, run: Run, name: str, folder: Path, choose: Callable[[HeadRef], None], *, lit: HeadRef | None = None, titled: bool = True
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


def kept(say: Say, folder: Path, name: str, draw: Callable[[Style], go.Figure]) -> go.Figure:
    """A figure of a run in the language and the theme of the page: drawn once, then kept. It must not be changed."""
    style = style_of(say)
    key = (*version_of(folder), name, say.language, style.dark)
    return _FIGURES.get(key, lambda: draw(style).update_layout(dragmode=False), lambda _: 1)


def _chosen(say: Say, drawing: go.Figure, key: str) -> go.Figure:
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
