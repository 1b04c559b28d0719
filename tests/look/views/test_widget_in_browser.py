"""The widget's module, run in a browser against a stand-in for the notebook."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import eyeline as el
from eyeline.look.views import notebook, page
from eyeline.look.views.notebook import picture
from eyeline.look.views.view import View
from eyeline.words import Words

pytestmark = pytest.mark.browser

NOTEBOOK = """
const traits = JSON.parse(document.getElementById("traits").textContent);
for (const array of Object.values(traits._arrays)) array.data = new DataView(Uint8Array.from(array.data).buffer);
const listeners = {};
window.model = {
  sent: [],
  get: (name) => traits[name],
  set: (name, value) => { traits[name] = value; },
  save_changes: () => model.sent.push(structuredClone(traits.state)),
  on: (event, callback) => { listeners[event] = callback; },
  off: (event) => { delete listeners[event]; },
  receive: (state) => { traits.state = state; listeners["change:state"]?.(); },
};
const widget = await import(URL.createObjectURL(new Blob([document.getElementById("module").textContent], { type: "text/javascript" })));
window.destroy = widget.default.render({ model, el: document.getElementById("cell") });
"""


@pytest.fixture(scope="module")
def view() -> View:
    return el.head_view(el.Trace.from_arrays(np.full((3, 2, 3, 3), 1 / 3), ["the", "</script>", "sat"]))


@pytest.fixture(scope="module")
def cell(view: View, browser: Any) -> Iterator[Any]:
    shown = opened(view, browser)
    yield shown
    shown.close()


def opened(view: View, browser: Any) -> Any:
    """A page with the cell's two outputs: the still picture, and the widget drawn beside it."""
    notebook.widget_class.cache_clear()  # another module's tests may have left a widget with a small front end
    widget = view.widget()
    traits = {name: getattr(widget, name) for name in ("_spec", "_still", "_labels", "state")}
    traits["_arrays"] = {name: {**entry, "data": list(entry["data"])} for name, entry in widget._arrays.items()}
    code = widget._esm.replace("</", "<\\/")
    body = (
        f'{picture(view)}<div id="cell"></div><script type="application/json" id="traits">{page.inert(traits)}</script>'
        f'<script type="text/plain" id="module">{code}</script><script type="module">{NOTEBOOK}</script>'
    )
    shown = browser.new_page()
    shown.set_content(body)
    shown.wait_for_selector("#cell[data-drawn]", state="attached")
    return shown


def state(cell: Any) -> dict[str, Any]:
    return cell.evaluate("document.getElementById('cell').eyeline.state()")  # type: ignore[no-any-return]


def test_the_still_picture_steps_aside_for_the_live_view(cell: Any) -> None:
    assert cell.evaluate("getComputedStyle(document.querySelector('img')).display") == "none"


def test_binary_arrays_arrive(cell: Any) -> None:
    lines = cell.evaluate("document.getElementById('cell').eyeline.scene().lines")
    assert len(lines) == 2 * 3 * 3
    assert {round(line["weight"], 3) for line in lines} == {0.333}


def test_what_python_sets_is_shown(cell: Any) -> None:
    cell.evaluate("state => model.receive(state)", {**state(cell), "layer": 2})
    assert state(cell)["layer"] == 2


def test_what_the_reader_does_is_sent(cell: Any) -> None:
    cell.evaluate("state => { model.sent.length = 0; model.receive(state); }", {**state(cell), "layer": 0})
    menu = cell.locator("#cell").locator('select[name="layer"]')
    cell.wait_for_function("menu => menu.value === '0'", arg=menu.element_handle())
    menu.select_option("1")
    cell.wait_for_function("model.sent.length > 0", timeout=5000)
    assert cell.evaluate("model.sent.at(-1).layer") == 1


OUTPUTS = """<div class="jp-OutputArea-child"><div class="jp-OutputArea-output">{picture}<style>{style}</style></div></div>
<div class="jp-OutputArea-child"><div class="jp-OutputArea-output" id="widget">Error displaying widget: model not found</div></div>
<div class="jp-OutputArea-child" id="after">another output</div>"""


def test_without_a_kernel_the_error_in_place_of_the_widget_is_not_seen(view: View, browser: Any) -> None:
    """As JupyterLab lays out the two outputs; a live view in the second makes it visible."""
    shown = browser.new_page()
    shown.set_content(OUTPUTS.format(picture=picture(view), style=notebook.HIDE_ERROR.format(still=notebook.still_class(view))))
    assert shown.locator("img").is_visible()
    assert not shown.get_by_text("model not found").is_visible()
    assert shown.locator("#after").is_visible()
    shown.evaluate("document.getElementById('widget').innerHTML = '<div data-eyeline-live>drawn</div>'")
    assert shown.get_by_text("drawn").is_visible()
    shown.close()


def test_a_live_view_says_that_it_is_one(cell: Any) -> None:
    assert cell.locator("#cell[data-eyeline-live]").count() == 1


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_controls_of_a_live_view_are_in_the_language_of_the_reader(browser: Any, language: str) -> None:
    shown = opened(el.head_view(el.Trace.from_arrays(np.full((1, 2, 3, 3), 1 / 3), ["the", "cat", "sat"]), language=language), browser)
    words, text = Words(language), shown.locator("#cell .view").text_content()
    assert [name for name in ("reading", "save", "note") if words(f"view.{name}") not in text] == []
    assert "Attention shows" not in text
    shown.close()
