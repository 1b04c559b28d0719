"""The front end inside Streamlit: its code is sent once a visit, a view as bytes, and the state that the reader sets comes back."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any

import streamlit as st

from eyeline import kinds
from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.trace import Trace
from eyeline.look.views.head import head_view
from eyeline.look.views.heads_grid import HeadGrid
from eyeline.look.views.model import model_view
from eyeline.look.views.neuron import at_query_of_strongest_look, neuron_view
from eyeline.look.views.page import joined
from eyeline.look.views.sentence import chosen_word, sentence_view
from eyeline.look.views.view import View, first_layer
from eyeline.measure.runs.figure import Theme, head_data, head_from

#: The kinds of view whose code this run of the page has already sent.
SENT = "eyeline-code-sent"


@cache
def _component(name: str, *files: str) -> Callable[..., Any]:
    """A part of the front end as a component of Streamlit. files: of its code; without them, the file of the same name."""
    js = joined(*(files or [f"streamlit-{name}"]))
    return st.components.v2.component(f"eyeline_{name}", js=js, isolate_styles=False)


def _now() -> int:
    """Milliseconds since 1970."""
    return time.time_ns() // 1_000_000


def note_click(target: str) -> None:
    """Call this from a callback when the visitor has chosen something whose result is drawn in the container with this key."""
    st.session_state[f"brought-{target}"] = _now()


def scroll_to_answer(target: str) -> None:
    """Scroll to the container with this key, once for each click. Call it before the slow parts of the page are drawn."""
    click = st.session_state.get(f"brought-{target}")
    with st.container():  # also before the first click: what follows keeps its position on the page, and is not drawn again
        if click is not None:
            _component("bring")(data={"target": target, "click": click}, key=f"eyeline-bring-{target}", height=1)


def heads_of_figure(lit: HeadRef | None, theme: Theme, choose: Callable[[HeadRef], None], key: str) -> None:
    """Light a head in the figure of the same container, and pass on the head that the visitor clicks there.

    choose   called with that head before the page is drawn again
    """

    def pass_on() -> None:
        head = head_from((st.session_state.get(key) or {}).get("head"))
        if head is not None:
            choose(head)

    data = [None if lit is None else head_data(lit), theme.ground, theme.ink]  # a list: see send_answer
    _component("heads")(data=data, key=key, height=1, on_head_change=pass_on)


def head_grid(
    grid: HeadGrid,
    words: Mapping[str, str],
    key: str,
    *,
    lit: HeadRef | None = None,
    off: str = "",
    choose: Callable[[HeadRef], None],
    high: int = 420,
) -> None:
    """Show a number for each head, which may change while the numbers are measured; pass on the head that the visitor clicks.

    words   of the views, in the visitor's language
    lit     the head that is shown elsewhere on the page; off: the heads that are switched off, as in the state of a view
    high    of the cells together, in pixels; with many layers they may become higher, so that a cell has 16 pixels
    """

    def pass_on() -> None:
        head = head_from((st.session_state.get(key) or {}).get("head"))
        if head is not None:
            choose(head)

    spoken = {name: words[name] for name in ("previous", "next", "estimate", "measured", "switched_off")}
    # a list: see send_answer
    data = [
        {
            **grid.record(),
            "lit": "" if lit is None else str(HeadRef(grid.stack, lit.layer, lit.head)),
            "off": off,
            "words": spoken,
            "height": high,
        }
    ]
    _component("grid")(data=data, key=key, height="content", on_head_change=pass_on)


def is_seen(what: str, key: str) -> bool:
    """Whether the visitor has scrolled to this part of the page since it shows `what`. Call it in a fragment, which then runs again."""
    seen = str((st.session_state.get(key) or {}).get("seen") or "").split(" ")[0] == what
    _component("seen")(data={"what": what, "drawn": seen}, key=key, height=1, on_seen_change=lambda: None)
    return seen


def front(language: str, visitor: str) -> None:
    """The front end's core, the page's language, and the cookie by which returning visitors get their own runs. Shows nothing."""
    st.session_state[SENT] = set()
    data = {"language": language, "visitor": visitor}
    _component("front", "core", "streamlit-front")(data=data, key="eyeline-front", height=1, on_theme_change=lambda: None)


def send_code(kind: str) -> None:
    """The code of a further view, once a page."""
    sent = st.session_state.setdefault(SENT, set())
    code = kinds.VIEWS[kind].code
    if code and kind not in sent:
        sent.add(kind)
        _component(kind, "streamlit-part", *code)(key=f"eyeline-code-{kind}", height=1)


def packed(view: View, labels: Mapping[str, str], answers: bool = False, *, bare: bool = False) -> bytes:
    """A view as bytes: the length of a JSON header (4 bytes, little-endian), the header, and the arrays one after the other.

    answers   whether the page answers when the reader switches something off (`send_answer`)
    bare      the picture alone, without title, controls and notes: the page has them
    """
    arrays = {name: {**array.header(), "size": len(array.data)} for name, array in view.arrays.items()}
    body = b"".join(array.data for array in view.arrays.values())
    header: dict[str, Any] = {"kind": view.kind, "spec": dict(view.spec), "arrays": arrays, "labels": dict(labels)}
    header["answers"], header["bare"] = answers, bare
    header["digest"] = hashlib.sha256(json.dumps(header).encode() + body).hexdigest()[:16]
    text = json.dumps(header, separators=(",", ":")).encode()
    return len(text).to_bytes(4, "little") + text + body


def send_answer(data: bytes, answer: Mapping[str, Any], key: str) -> None:
    """Send the model's answer for the present state of a packed view."""
    # a list: in a dict Streamlit would look for tables, and import pandas for it while the first reader waits
    _component("answer")(data=[_header(data)["digest"], dict(answer)], key=key, height=1)


@dataclass(frozen=True)
class Click:
    """A click elsewhere on the page that a view follows.

    number    a later click has a larger one
    reading   what the view had reported before: the click counts until the reader changes something in the view
    """

    number: int
    reading: Mapping[str, Any] | None


def click_for(view: str) -> Click:
    """Call this from a callback when the visitor has clicked something that the view with this key then shows."""
    return Click(_now(), _reading(view))


def change_state(data: bytes, view: str, click: Click | None, state: Mapping[str, Any]) -> Mapping[str, Any]:
    """Change the state of a packed view that is mounted with this key, once for each click; the view itself is not sent again.

    Returns what the click changes in the state of the view: {} without a click, and where the reader has changed the view since.
    """
    with st.container():  # also before the first click: what follows keeps its position on the page
        if click is None or not state:
            return {}
        _component("view_state", "streamlit-view-state")(
            data=[_header(data)["digest"], click.number, dict(state)], key=f"eyeline-view-state-{view}", height=1
        )
    return state if _reading(view) == click.reading else {}


def _reading(view: str) -> Mapping[str, Any] | None:
    return (st.session_state.get(view) or {}).get("reading")


def _header(data: bytes) -> dict[str, Any]:
    length = int.from_bytes(data[:4], "little")
    header: dict[str, Any] = json.loads(data[4 : 4 + length])
    return header


def show(data: bytes, key: str) -> dict[str, Any]:
    """Mount a packed view. Returns the state that its reader has set; {} as long as the reader has changed nothing."""
    header = _header(data)
    send_code(header["kind"])
    shown = _component("view")(data=data, key=key, on_reading_change=lambda: None)
    reading = shown.get("reading")
    if not isinstance(reading, Mapping) or reading.get("digest") != header["digest"]:
        return {}
    state = reading.get("state")
    return dict(state) if isinstance(state, Mapping) else {}


# ---- The three views of a text, opened in a state that may come from an old or made-up link


def head_view_at_start(trace: Trace, **options: Any) -> View:
    """All heads of the first layer: the state that follows may give a layer alone, which means all its heads."""
    return head_view(trace, layer=first_layer(trace), **options)


def neuron_view_at_start(trace: Trace, **options: Any) -> View:
    """The first head of the first layer."""
    return neuron_view(trace, layer=first_layer(trace), head=0, **options)


def sentence_view_at_start(trace: Trace, **options: Any) -> View:
    """The first head of the first layer."""
    return sentence_view(trace, layer=first_layer(trace), head=0, **options)


#: Views by the name that addresses and messages use.
VIEWS: Mapping[str, Callable[..., View]] = {
    "sentence": sentence_view_at_start,
    "head": head_view_at_start,
    "model": model_view,
    "neuron": neuron_view_at_start,
}


def with_state(view: View, state: Mapping[str, Any]) -> View:
    """The view, opened with every part of a state that it accepts; the rest is ignored.

    A neuron view without a query opens at the query with the strongest look at another word, and a sentence without a chosen word at that
    of its head's strongest look.
    """
    for key in sorted(state, key=("stack", "layer").__contains__, reverse=True):
        try:
            view = view.starting(**{key: state[key]})
        except (TraceError, TypeError, ValueError):
            continue
    if view.kind == "sentence" and "locked" not in state:
        return view.starting(locked=[chosen_word(view)])
    return at_query_of_strongest_look(view) if view.kind == "neuron" and "query" not in state else view
