"""The figures of a run on the page, with what they mean; a head that is clicked in one is returned."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import streamlit as st

from eyeline.heads import HeadRef
from eyeline.hosts.app.cache import Cache
from eyeline.hosts.app.messages import Say
from eyeline.plots.clickable_cells import head_from
from eyeline.plots.figures import figure, record_of
from eyeline.plots.formula import formula_html
from eyeline.plots.style import Style
from eyeline.results.folder import FACTS_FILE
from eyeline.results.run import Run

CONFIG = {"displaylogo": False, "displayModeBar": False, "scrollZoom": False}
#: Figures that were drawn, by everything that they depend on.
_FIGURES = Cache(96)


def style_of(say: Say) -> Style:
    """Figures in the language and the theme of the page, without headings: the page has them."""
    return Style(say, dark=st.context.theme.type == "dark", titled=False, clickable=True)


def version_of(folder: Path) -> tuple[str, int]:
    """What pictures of a run are kept by: its folder, and when it was written."""
    about = folder / FACTS_FILE
    return str(folder), about.stat().st_mtime_ns if about.is_file() else 0


def show(say: Say, run: Run, name: str, folder: Path, *, titled: bool = True) -> HeadRef | None:
    """One figure with its meaning and its formula; the head that the visitor clicked in it, if any."""
    record, stack = record_of(name)
    key = f"figure-{folder.name}-{name}-{say.language}"
    if titled:
        st.subheader(record.title(say, stack), anchor=False)
    hint = f" {say(f'figures.click_{record.clickable}')}" if record.clickable else ""
    st.caption(record.meaning(say) + hint)
    st.html(f'<p class="el-formula"><span>{formula_html(record.formula)}</span> {formula_html(record.symbols(say))}</p>')
    drawing = kept(say, folder, name, lambda style: figure(run, name, style))
    if drawing.layout.updatemenus:
        drawing = _chosen(say, drawing, key)
    with st.container(key=f"wide-{name}"):
        if not record.clickable:
            st.plotly_chart(drawing, theme=None, key=key, config=CONFIG)
            return None
        event: Any = st.plotly_chart(drawing, theme=None, key=key, config=CONFIG, on_select="rerun", selection_mode="points")
    return clicked(event)


def kept(say: Say, folder: Path, name: str, draw: Callable[[Style], go.Figure]) -> go.Figure:
    """A figure of a run in the language and the theme of the page: drawn once, then kept. It must not be changed."""
    style = style_of(say)
    layout = {"dragmode": False, "clickmode": "event+select"}
    return _FIGURES.get((*version_of(folder), name, say.language, style.dark), lambda: draw(style).update_layout(layout), lambda _: 1)


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


def clicked(event: Any) -> HeadRef | None:
    """The head of the first point that is selected."""
    points = (event or {}).get("selection", {}).get("points", ())
    return next((head for point in points if (head := head_from(point.get("customdata"))) is not None), None)
