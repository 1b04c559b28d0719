"""A view in a notebook cell: live through anywidget, with a still picture that stays when the notebook is opened without a kernel."""

from __future__ import annotations

import base64
import html
import secrets
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

from eyeline.errors import EyelineError, install_hint
from eyeline.look.views.data import ViewData
from eyeline.look.views.page import code_of, frame, page
from eyeline.look.views.still import still
from eyeline.words import Words

WIDGET = "application/vnd.jupyter.widget-view+json"
#: The most bytes of a page in a notebook file; a larger page is replaced by the still picture.
LARGEST_FRAME = 8_000_000

#: JupyterLab's outputs are siblings: the one after the picture is shown while a live view is in it, which marks itself by this attribute.
HIDE_ERROR = ".jp-OutputArea-child:has(.{still}) + .jp-OutputArea-child:not(:has([data-eyeline-live])) {{ display: none }}"


def live_widget(view: ViewData) -> Any:
    """The view's anywidget, created once: its arrays as binary buffers, and a `state` that follows the reader, both ways."""
    if "widget" not in view._live:
        view._live["widget"] = new_widget(view)
    return view._live["widget"]


def new_widget(view: ViewData) -> Any:
    """A widget that shows the view, with its arrays as binary buffers."""
    arrays = {name: {**array.header(), "data": memoryview(array.data)} for name, array in view.arrays.items()}
    answer = view._live.get("answer")
    widget = widget_class(view.kind)(
        _spec=dict(view.spec),
        _arrays=arrays,
        _still=still_class(view),
        _answers=answer is not None,
        _labels={} if view.language == "en" else Words(view.language).part("view"),
        state=dict(view.spec["state"]),
    )
    if answer is not None:
        widget.observe(lambda change: _answer_again(widget, answer, change), "state")
    return widget


def _answer_again(widget: Any, answer: Callable[[str], dict[str, Any]], change: Any) -> None:
    """The reader has switched something off or on: the model answers again."""
    before, now = ((change[which] or {}).get("off", "") for which in ("old", "new"))
    if before != now:
        widget._answer = answer(now)


@cache
def widget_class(kind: str) -> Any:
    """The widget for one kind of view, with the code that this kind needs. Created on first use, since anywidget is an extra."""
    if not has_anywidget():
        raise EyelineError("A live view needs anywidget, which is not installed.", install_hint("notebook"))
    import anywidget
    import traitlets

    class ViewWidget(anywidget.AnyWidget):  # type: ignore[misc]
        _esm = code_of(kind, "anywidget")
        _spec = traitlets.Dict().tag(sync=True)
        _arrays = traitlets.Dict().tag(sync=True)
        _still = traitlets.Unicode().tag(sync=True)
        _answers = traitlets.Bool(False).tag(sync=True)
        _answer = traitlets.Dict().tag(sync=True)
        _labels = traitlets.Dict().tag(sync=True)
        state = traitlets.Dict().tag(sync=True)

    return ViewWidget


def has_anywidget() -> bool:
    """Whether anywidget is installed."""
    try:
        import anywidget  # noqa: F401
    except ImportError:
        return False
    return True


def show(view: ViewData) -> None:
    """Display in IPython: the still picture and the live widget as two outputs; the widget hides the picture when it draws.

    Two, because a notebook opened without a kernel shows an error in place of a widget, whatever else that output holds. The picture's
    style hides the second output as long as no live view is in it.
    """
    import IPython.display as screen

    display: Any = screen.display

    if not has_anywidget():
        display(mimebundle(view), raw=True)
        return
    display(
        {"text/html": picture(view) + f"<style>{HIDE_ERROR.format(still=still_class(view))}</style>", "text/plain": repr(view)}, raw=True
    )
    display({WIDGET: widget_data(view), "text/plain": ""}, raw=True)


def mimebundle(view: ViewData) -> dict[str, Any]:
    """The forms of the view that a notebook may show: the widget where anywidget is installed, else a page in a frame; and the picture."""
    if has_anywidget():
        return {WIDGET: widget_data(view), "text/html": picture(view), "text/plain": repr(view)}
    if sum(len(array.data) for array in view.arrays.values()) * 4 / 3 > LARGEST_FRAME:
        note = (
            f"<p>Too large for a frame in a notebook. Live: {html.escape(install_hint('notebook'))}; as a page: view.save('view.html').</p>"
        )
        return {"text/html": picture(view) + note, "text/plain": repr(view)}
    return {"text/html": frame(page(view)), "text/plain": repr(view)}


@dataclass(frozen=True)
class EmbeddedPage:
    """A page in a frame, as the output of a cell. Programs that run no untrusted scripts show the picture instead."""

    html: str
    picture: str
    name: str

    def __repr__(self) -> str:
        return f"{self.name}, embedded"

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/html": self.html, "image/svg+xml": self.picture, "text/plain": repr(self)}


def embedded_page(view: ViewData) -> EmbeddedPage:
    """The page with the present state of the view."""
    size = sum(len(array.data) for array in view.arrays.values()) * 4 / 3
    if size > LARGEST_FRAME:
        raise EyelineError(
            f"This view is a page of {size / 1e6:.0f} MB, too large for a notebook file.", "Give layers=[…], or save it as .html."
        )
    return EmbeddedPage(frame(page(view.starting(**view.state))), still(view), repr(view))


def widget_data(view: ViewData) -> dict[str, Any]:
    """What a notebook needs to show the live widget of a view."""
    return {"version_major": 2, "version_minor": 1, "model_id": live_widget(view).model_id}


def picture(view: ViewData) -> str:
    """The still picture as an image element: notebooks keep images where they strip drawings and scripts."""
    data = base64.b64encode(still(view).encode()).decode()
    return f'<img class="{still_class(view)}" alt="{html.escape(repr(view))}" src="data:image/svg+xml;base64,{data}">'


def still_class(view: ViewData) -> str:
    """The class name that connects the still picture with its widget; created once for each view."""
    return str(view._live.setdefault("still", f"eyeline-still-{secrets.token_hex(6)}"))
