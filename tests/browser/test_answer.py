"""The model's answer above a view, and what a click on a line, a head or a cell does to it."""

from __future__ import annotations

import base64
import json
import re
from dataclasses import replace

import pytest

import eyeline as el
from eyeline.look.answer import Choices, Prediction
from eyeline.look.trace import KEY, Quantity
from eyeline.look.views import page
from eyeline.look.views.view import View
from tests.browser import made_up
from tests.browser.test_everywhere import written

ANSWER = Prediction("masked", (Choices(2, (" tea", "wine", "milk"), (5, 6, 7), (0.42, 0.1, 0.05)),))
CHANGED = Prediction("masked", (Choices(2, ("wine", " tea"), (6, 5), (0.5, 0.31)),))


def live(show, state: dict[str, object], view: View | None = None):
    """The view in a notebook whose Python side answers CHANGED to everything that is switched off."""
    view = view or el.head_view(trace())
    module = base64.b64encode(page.code_of(view.kind, "anywidget").encode()).decode()
    shown = show(f"""<!doctype html><meta charset="utf-8"><div id="view"></div>
<script type="module">const widget = (await import("data:text/javascript;base64,{module}")).default;
const data = {written(view)};
for (const array of Object.values(data.arrays)) array.data = new DataView(Uint8Array.from(atob(array.data), (c) => c.charCodeAt(0)).buffer);
const values = {{_spec: data.spec, _arrays: data.arrays, _answers: true, state: {json.dumps(state)}}}, listeners = {{}};
window.model = {{
  get: (name) => values[name],
  set(name, value) {{ values[name] = value; (listeners["change:" + name] ?? []).forEach((listener) => listener()); }},
  save_changes() {{ this.set("_answer", {{off: values.state.off, prediction: {json.dumps(CHANGED.to_json())}}}); }},
  on(event, listener) {{ (listeners[event] ??= []).push(listener); }},
  off() {{}},
}};
widget.render({{model, el: document.getElementById("view")}});</script>""")
    shown.until(f"state.layer === {state['layer']}")
    return shown


def test_heads_are_switched_off_the_bars_move_and_undo_all_brings_everything_back(show):
    shown = live(show, {"layer": 1, "heads": [0]})
    shown.click("[data-name=switch-off]")
    shown.until("state.off === 'L1·H0'")
    shown.soon(lambda: _equal([bar.inner_text().split() for bar in shown.page.locator(".answer-choice").all()][:2], [
        ["tea", "0.42", "→", "0.31"], ["wine", "0.10", "→", "0.50"],
    ]))  # fmt: skip
    shown.page.locator("[data-head='1']").click(button="right")
    shown.until("state.off === 'L1·H0; L1·H1'")
    assert shown.page.locator("[data-head][data-off]").count() == 2
    shown.click("[data-name=undo]")
    shown.until("state.off === ''")
    shown.soon(lambda: _equal(shown.page.locator(".answer-choice").first.inner_text().split(), ["tea", "0.42"]))


def test_a_click_on_a_line_switches_it_off(show):
    shown = live(show, {"layer": 0, "heads": [1], "threshold": 0.0})
    left, right = shown.option("queries", 2), shown.option("keys", 2)
    canvas = shown.page.locator("canvas.plot").bounding_box()
    lines = [line for line in shown.scene["lines"] if line["from"] == line["to"] == 2]
    assert lines, "the made-up trace has this line"
    shown.page.mouse.click(canvas["x"] + canvas["width"] / 2, (left[1] + right[1]) / 2)
    shown.until("/^L0·H1 \\d+>\\d+$/.test(state.off)")
    assert shown.state["locked"] == []


def test_a_right_click_on_a_cell_switches_it_off_and_on_again(show):
    shown = live(show, {"layer": 0, "heads": [1], "as": "heatmap"})
    box = shown.page.locator("canvas.plot").bounding_box()
    shown.page.mouse.move(box["x"] + 140, box["y"] + 140)
    row, col = re.search(r"L0·H1 · (\d+) → (\d+)", shown.page.locator(".tip").inner_text()).groups()
    shown.page.mouse.click(box["x"] + 140, box["y"] + 140, button="right")
    shown.until(f"state.off === 'L0·H1 {row}>{col}'")
    assert shown.state["locked"] == []
    box = shown.page.locator("canvas.plot").bounding_box()  # the line of what is off may have moved the map
    shown.page.mouse.click(box["x"] + 140, box["y"] + 140, button="right")
    shown.until("state.off === ''")


def hint(shown) -> str:
    return shown.page.locator(".switched .hint").inner_text()


def test_a_right_click_on_a_thumbnail_switches_the_head_off_and_crosses_it_out(show):
    shown = live(show, {"layer": 0}, el.model_view(trace()))
    shown.until("scene.thumbnails.length === 4")
    assert hint(shown) == "Right click a head to switch it off."

    def right_click(name: str) -> None:
        (head,) = [thumbnail for thumbnail in shown.scene["thumbnails"] if thumbnail["name"] == name]
        canvas = shown.page.locator("canvas.plot").bounding_box()
        centre = (canvas["x"] + head["x"] + head["width"] / 2, canvas["y"] + head["y"] + head["height"] / 2)
        shown.page.mouse.click(*centre, button="right")

    right_click("L1·H0")
    shown.until("state.off === 'L1·H0' && scene.thumbnails.filter((head) => head.off).map((head) => head.name).join() === 'L1·H0'")
    shown.page.locator(".answer-choice", has_text="0.42 → 0.31").wait_for()
    right_click("L0·H1")
    shown.until("state.off === 'L1·H0; L0·H1' && scene.thumbnails.filter((head) => head.off).length === 2")
    right_click("L1·H0")
    shown.until("state.off === 'L0·H1'")
    assert not shown.state["opened"]


def test_the_key_o_switches_off_the_head_that_the_arrows_reached(show):
    shown = live(show, {"layer": 0}, el.model_view(trace()))
    shown.until("scene.thumbnails.length === 4")
    shown.page.locator("canvas.plot").focus()
    for key in ("ArrowRight", "ArrowDown", "o"):
        shown.page.keyboard.press(key)
    shown.until("state.off === 'L1·H0'")


def test_a_head_opened_from_the_model_view_and_its_lines_are_switched_off_there(show):
    shown = live(show, {"layer": 1, "heads": [1], "opened": True, "threshold": 0.0}, el.model_view(trace()))
    shown.until("scene.kind === 'head' && scene.lines.length > 0")
    shown.click("[data-name=switch-off]")
    shown.until("state.off === 'L1·H1' && scene.lines.every((line) => line.opacity < 0.16)")
    shown.click("[data-name=undo]")
    shown.until("state.off === ''")
    left, right = shown.option("queries", 2), shown.option("keys", 2)
    canvas = shown.page.locator("canvas.plot").bounding_box()
    shown.page.mouse.click(canvas["x"] + canvas["width"] / 2, (left[1] + right[1]) / 2, button="right")
    shown.until("/^L1·H1 \\d+>\\d+$/.test(state.off)")


def test_in_the_neuron_view_the_head_and_a_single_key_are_switched_off(show):
    shown = live(show, {"layer": 1, "heads": [3], "query": 2}, el.neuron_view(replace(made_up.neuron_trace(6), prediction=ANSWER)))
    assert hint(shown) == "Right click a key to hide it from this query."
    x, y = shown.option("keys", 4)
    shown.page.mouse.click(x, y, button="right")
    shown.until("state.off === 'L1·H3 2>4' && state.expanded === null")
    shown.click("[data-name=switch-off]")
    shown.until("state.off === 'L1·H3 2>4; L1·H3'")
    shown.page.locator(".answer-choice", has_text="0.42 → 0.31").wait_for()


@pytest.mark.parametrize(("by_layer", "off"), [(True, "L1·H0-1"), (False, "all")])
def test_a_line_of_a_quantity_without_heads_is_switched_off_in_all_heads_and_the_page_says_so(show, by_layer, off):
    quantity = without_heads(by_layer)
    shown = live(show, {"layer": 1, "heads": [0, 1], "drawn": 1}, el.head_view(trace(), also=[quantity]))
    shown.until("scene.lines.length > 0 && scene.lines.every((line) => line.head === -1)")
    assert hint(shown).endswith(f"in all heads ({'L1' if by_layer else 'all layers'}).")
    left, right = shown.option("queries", 2), shown.option("keys", 2)
    canvas = shown.page.locator("canvas.plot").bounding_box()
    shown.page.mouse.click(canvas["x"] + canvas["width"] / 2, (left[1] + right[1]) / 2)
    shown.until(f"state.off.startsWith('{off} ') && /\\d+>\\d+$/.test(state.off)")
    shown.page.locator(".answer-choice", has_text="0.42 → 0.31").wait_for()
    shown.page.locator("select[name=drawn]").select_option("0")
    shown.until("state.drawn === 0")
    assert hint(shown).startswith("Click a line to switch it off")


def test_where_heads_are_combined_the_page_says_how_to_switch_a_line_off(show):
    shown = live(show, {"layer": 0, "heads": [0, 1], "combine": "mean"})
    assert hint(shown).startswith("Heads are combined here")


def without_heads(by_layer: bool):
    """A quantity with one map for each layer, or one alone."""
    plain = made_up.trace(6, layers=2 if by_layer else 1, heads=1)
    quantity = Quantity("rollout", "Attention rollout", signed=False, answer="", position=2, scores=(0.0,) * 6)
    return replace(plain, about={**plain.about, KEY: quantity.to_json()})


def _equal(seen, wanted) -> None:
    assert seen == wanted


def trace():
    plain = made_up.trace(6, layers=2, heads=2)
    return replace(plain, prediction=ANSWER)


@pytest.mark.parametrize("view", [el.head_view, el.model_view, el.neuron_view])
def test_the_answer_stands_above_the_drawing_with_its_numbers(show, view):
    page = show(view(replace(made_up.neuron_trace(6), prediction=ANSWER))).page
    bars = page.locator(".answer-choice")
    assert [bar.inner_text().split() for bar in bars.all()] == [["tea", "0.42"], ["wine", "0.10"], ["milk", "0.05"]]
    assert page.locator(".answers").bounding_box()["y"] < page.locator(".stage").bounding_box()["y"]


def test_a_view_of_a_model_that_answers_nothing_has_no_such_line(show):
    assert show(el.head_view(made_up.trace(6, layers=2, heads=2))).page.locator(".answer-bar").count() == 0


def test_a_page_without_a_model_shows_the_effect_of_the_head_that_is_shown(show):
    class Effects:
        name = trace().model

        def head_effects(self, _):
            return [{"stack": "encoder", "layer": layer, "probabilities": [0.4 - 0.1 * layer, 0.11]} for layer in range(2)]

    shown = show(el.head_view(trace(), model=Effects(), effects=True, layer=1, heads=[0]))
    assert shown.page.locator(".effect").inner_text() == "Without L1·H0: tea 0.42 → 0.30"
    assert shown.page.locator("[data-name=switch-off]").count() == 0
    shown.page.keyboard.press("ArrowRight")
    shown.until("state.heads[0] === 1")
    assert shown.page.locator(".effect").inner_text() == "Without L1·H1: tea 0.42 → 0.11"
