"""A view in a notebook: live where anywidget is, a frame where it is not, and a picture that stays in the file."""

from __future__ import annotations

import base64
import re
import sys
from pathlib import Path

import nbformat
import numpy as np
import pytest
from nbclient import NotebookClient
from nbconvert import HTMLExporter

import eyeline as el
from eyeline.errors import EyelineError, install_hint
from eyeline.look.views import notebook
from eyeline.look.views.notebook import WIDGET
from eyeline.look.views.view import View
from tests.look.views.front_end import use_small_front_end


@pytest.fixture(autouse=True)
def _front_end(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)


def view(tokens: int = 3) -> View:
    return el.head_view(el.Trace.from_arrays(np.full((1, 2, tokens, tokens), 1 / tokens), [f"token{i}" for i in range(tokens)]))


def test_the_bundle_has_the_widget_and_a_picture() -> None:
    drawn = view()
    shown = drawn._repr_mimebundle_()
    assert shown[WIDGET]["model_id"] == drawn.widget().model_id
    assert "token2" in picture_in(shown["text/html"])


def picture_in(html: str) -> str:
    return base64.b64decode(re.findall(r'src="data:image/svg\+xml;base64,([^"]+)"', html)[0]).decode()


def test_arrays_travel_as_binary_buffers() -> None:
    from ipywidgets.widgets.widget import _remove_buffers

    shown = view()
    state, paths, buffers = _remove_buffers(shown.widget().get_state())
    assert ["_arrays", "encoder.0.weights", "data"] in paths
    assert [bytes(buffer) for buffer in buffers] == [shown.arrays["encoder.0.weights"].data]
    assert state["_spec"]["model"] == "arrays"


def test_the_state_follows_the_reader() -> None:
    shown = view()
    shown.widget().set_state({"state": {"layer": 0, "heads": [1]}})  # what the front end sends
    assert shown.state["heads"] == [1]


def test_the_reader_follows_the_state() -> None:
    shown = view()
    seen = []
    shown.widget().observe(lambda change: seen.append(change["new"]), "state")
    shown.update(heads=[0], theme="dark")
    assert seen == [{"stack": 0, "layer": 0, "heads": [0], "theme": "dark"}]


def test_a_view_has_one_widget() -> None:
    shown = view()
    assert shown.widget() is shown.widget()


@pytest.fixture
def no_anywidget(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "anywidget", None)
    notebook.widget_class.cache_clear()


@pytest.mark.usefixtures("no_anywidget")
def test_without_anywidget_the_page_is_shown_in_a_frame() -> None:
    shown = view()._repr_mimebundle_()
    assert WIDGET not in shown
    assert shown["text/html"].startswith('<iframe sandbox="allow-scripts')
    assert "&lt;!doctype html&gt;" in shown["text/html"]


@pytest.mark.usefixtures("no_anywidget")
def test_without_anywidget_a_live_view_says_what_to_install() -> None:
    with pytest.raises(EyelineError, match=re.escape(install_hint("notebook"))):
        view().widget()


@pytest.mark.usefixtures("no_anywidget")
def test_without_anywidget_a_page_too_large_for_a_notebook_becomes_a_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "LARGEST_FRAME", 10)
    shown = view()._repr_mimebundle_()
    assert "token2" in picture_in(shown["text/html"])
    assert "<iframe" not in shown["text/html"]


CELL = """
import numpy as np
import eyeline as el
{extra}
el.head_view(el.Trace.from_arrays(np.full((1, 2, 3, 3), 1 / 3), ["the", "cat", "sat"]))
"""
SMALL = "import pytest\nfrom tests.look.views.front_end import use_small_front_end\nuse_small_front_end(pytest.MonkeyPatch())"


@pytest.mark.parametrize("keep_widget_state", [True, False])
def test_an_executed_notebook_shows_the_picture_without_a_kernel(keep_widget_state: bool) -> None:
    result = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(CELL.format(extra=SMALL))])
    root = str(Path(__file__).parents[3])
    NotebookClient(
        result, timeout=120, kernel_name="python3", store_widget_state=keep_widget_state, resources={"metadata": {"path": root}}
    ).execute()
    html, _ = HTMLExporter().from_notebook_node(result)
    assert "cat" in picture_in(html)
    picture, widget = (output["data"] for output in result.cells[0].outputs)
    assert WIDGET in widget
    assert WIDGET not in picture
    name = re.findall(r'<img class="([\w-]+)"', picture["text/html"])[0]
    assert f".jp-OutputArea-child:has(.{name}) + .jp-OutputArea-child:not(:has([data-eyeline-live]))" in picture["text/html"]


def test_an_embedded_view_is_a_live_page_in_its_present_state_and_small() -> None:
    trace = el.Trace.from_arrays(np.random.default_rng(0).dirichlet(np.full(128, 0.1), size=(12, 12, 128)).astype(np.float32), ["a"] * 128)
    bundle = el.head_view(trace, layer=3, theme="dark").embed()._repr_mimebundle_()
    assert len(bundle["text/html"]) < 3_000_000
    assert bundle["text/html"].startswith('<iframe sandbox="allow-scripts')
    assert "&quot;layer&quot;:3" in bundle["text/html"]
    assert bundle["image/svg+xml"].startswith("<svg")
    assert "embedded" in bundle["text/plain"]


def test_a_view_that_is_too_large_to_embed_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(notebook, "LARGEST_FRAME", 10)
    with pytest.raises(EyelineError, match="too large for a notebook"):
        el.head_view(el.Trace.from_arrays(np.full((1, 1, 2, 2), 0.5), ["a", "b"])).embed()
