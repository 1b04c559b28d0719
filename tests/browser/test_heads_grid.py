"""A grid of heads in a host of its own: a click, arrow keys, estimates that become measured, switched-off heads, and fingers."""

from __future__ import annotations

import json
import re
from typing import Any

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.views.heads_grid import HeadGrid
from eyeline.look.views.page import built
from tests.browser import made_up

WORDS = {"previous": "Previous", "next": "Next", "estimate": "estimate", "measured": "measured", "switched_off": "Switched off"}


def grid(layers: int = 12, heads: int = 12, **options: Any) -> HeadGrid:
    values = np.random.default_rng(0).normal(size=(layers, heads)) / 10
    return HeadGrid("effect", values, title="What each head does", low="falls", high="rises", **options)


def page_of(shown: HeadGrid, **extra: Any) -> str:
    """The component of the app as a page: Streamlit's part is played by `draw` and `clicks`."""
    code = re.sub(r"export\s*\{\s*([\w$]+) as default\s*\};?", r"globalThis.component = \1;", built("streamlit-grid"))
    data = json.dumps({**shown.record(), "words": WORDS, **extra})
    return f"""<!doctype html><html><meta name=viewport content="width=device-width"><body style="margin:8px"><div id=view></div>
<script>{built("core")}\nglobalThis.eyeline = eyeline;</script><script type=module>{code}
globalThis.clicks = [];
globalThis.data = {data};
const parentElement = document.getElementById("view");
globalThis.draw = (next) => {{
  globalThis.data = {{ ...globalThis.data, ...next }};
  component({{ data: [globalThis.data], parentElement, setTriggerValue: (name, value) => clicks.push(value) }});
}};
draw({{}});
parentElement.toggleAttribute("data-drawn", true);
</script></body></html>"""


def scene(shown: Any) -> dict[str, Any]:
    return shown.page.evaluate("document.querySelector('.eyeline-grid').eyeline.scene()")


def middle(shown: Any, name: str) -> tuple[float, float]:
    cell = next(cell for cell in scene(shown)["cells"] if cell["name"] == name)
    box = shown.page.locator("canvas").bounding_box()
    return box["x"] + cell["x"] + cell["size"] / 2, box["y"] + cell["y"] + cell["size"] / 2


def test_a_click_sends_the_head_under_the_pointer(show):
    shown = show(page_of(grid()), width=420)
    assert len(scene(shown)["cells"]) == 144
    shown.page.mouse.click(*middle(shown, "L8·H10"))
    assert shown.page.evaluate("clicks") == [[8, 10, ""]]
    assert "L8·H10" in shown.page.locator(".tip").inner_text()
    assert shown.errors == []


def test_arrow_keys_move_and_enter_sends_what_is_said(show):
    values = grid()
    shown = show(page_of(values, lit="L3·H3"), width=420)
    shown.page.locator("[role=listbox]").focus()
    for key in ("ArrowRight", "ArrowDown", "ArrowDown"):
        shown.page.keyboard.press(key)
    said = shown.page.locator("[role=option]").inner_text()
    assert said == f"L5·H4 {values.values[5, 4]:+.3f}".replace("-", "−")
    shown.page.keyboard.press("Enter")
    assert shown.page.evaluate("clicks") == [[5, 4, ""]]


def test_estimates_are_hollow_until_they_are_measured(show):
    measured = np.zeros((12, 12), dtype=bool)
    shown = show(page_of(grid(measured=measured)), width=420)
    assert not any(cell["measured"] for cell in scene(shown)["cells"])
    assert "estimate" in shown.page.locator(".legend").inner_text()
    pixel = """([x, y]) => { const c = document.querySelector('.eyeline-grid').firstElementChild.shadowRoot.querySelector('canvas');
      const d = devicePixelRatio; return [...c.getContext('2d').getImageData(x * d, y * d, 1, 1).data].slice(0, 3).join(); }"""
    cell = next(cell for cell in scene(shown)["cells"] if cell["name"] == "L8·H10")
    at = [cell["x"] + cell["size"] / 2, cell["y"] + cell["size"] / 2]
    assert shown.page.evaluate(pixel, at) == "255,255,255"
    shown.page.evaluate("draw({measured: data.measured.map((row) => row.map(() => 1))})")
    assert all(cell["measured"] for cell in scene(shown)["cells"])
    assert shown.page.evaluate(pixel, at) != "255,255,255"
    assert "estimate" not in shown.page.locator(".legend").inner_text()


def test_a_head_that_is_switched_off_is_said_and_struck_through(show):
    shown = show(page_of(grid(), off="L0·H0; L8·H10"), width=420)
    shown.page.mouse.move(*middle(shown, "L8·H10"))
    assert "Switched off" in shown.page.locator(".tip").inner_text()
    shown.page.mouse.move(*middle(shown, "L8·H9"))
    assert "Switched off" not in shown.page.locator(".tip").inner_text()


def test_all_heads_of_a_deep_model_fit_a_screen_and_a_phone(show):
    shown = show(page_of(grid(30, 9), height=400), width=1000, height=900)
    assert scene(shown)["turned"]
    assert shown.page.evaluate("document.documentElement.scrollHeight") <= 900
    shown = show(page_of(grid(30, 9)), width=360, height=740)
    assert min(cell["size"] for cell in scene(shown)["cells"]) >= 16
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_fingers_get_large_buttons(show):
    shown = show(page_of(grid(), lit="L3·H11"), width=360, height=740, has_touch=True, is_mobile=True)
    box = shown.page.locator("[data-name=next]").bounding_box()
    assert min(box["width"], box["height"]) >= 44
    shown.page.locator("[data-name=next]").tap()
    shown.page.locator("[data-name=previous]").tap()
    assert shown.page.evaluate("clicks") == [[4, 0, ""], [3, 10, ""]]


def test_the_record_says_what_is_unknown_and_refuses_what_does_not_fit():
    record = HeadGrid("x", np.array([[0.25, np.nan], [1, 2]]), scale="share", n_heads=[2, 1], layers=[4, 7]).record()
    assert record["values"] == [[0.25, None], [1.0]]
    assert record["layers"] == [4, 7]
    with pytest.raises(TraceError, match="3 layers and 2 rows"):
        HeadGrid("x", np.zeros((2, 2)), layers=[1, 2, 3])
    with pytest.raises(TraceError, match="shape"):
        HeadGrid("x", np.zeros(4))


def test_the_model_view_colours_heads_by_what_the_text_says_of_them():
    trace = made_up.trace(12, layers=3, heads=4)
    view = el.model_view(trace)
    assert view.state["colour_by"] == "entropy"
    entropies, special = view.spec["grids"]
    weights = np.asarray(trace.encoder.weights_by_layer[1][2], dtype=float)
    assert entropies["values"][1][2] == pytest.approx(float(-(weights * np.log(weights)).sum(axis=1).mean()), abs=1e-5)
    assert special["values"][1][2] == pytest.approx(float(weights[:, [0, 11]].sum(axis=1).mean()), abs=1e-5)


def test_roles_that_are_given_come_first_and_their_legend_counts_heads(show):
    roles = HeadGrid(
        "role",
        np.array([[0, 0, 1, np.nan]] * 3),
        title="What each head does",
        scale="role",
        names=(("previous word", "previous"), ("broad", "broad")),
    )
    view = el.model_view(made_up.trace(12, layers=3, heads=4), grids=[roles])
    assert view.state["colour_by"] == "role"
    shown = show(view)
    assert "previous word 6" in shown.page.locator(".legend").inner_text()
    colours = {thumb["name"]: thumb["colour"] for thumb in shown.scene["thumbnails"]}
    assert [colours[name] for name in ("L0·H0", "L0·H2", "L0·H3")] == ["#0a4a45", "#3b82c4", "#5b6472"]


def test_all_heads_of_a_deep_model_are_on_one_screen(show):
    shown = show(el.model_view(made_up.trace(10, layers=30, heads=9)), width=1440, height=900)
    shown.until("scene.thumbnails.length === 270")
    last = max(thumb["y"] + thumb["height"] for thumb in shown.scene["thumbnails"])
    assert shown.page.locator("canvas").first.bounding_box()["y"] + last <= 900
    assert shown.page.evaluate("document.documentElement.scrollHeight") <= 900
