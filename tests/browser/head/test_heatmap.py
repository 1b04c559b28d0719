"""The heatmap: default for long texts, zoomable, exact under the pointer."""

from __future__ import annotations

import re

import pytest

from tests.browser import made_up


def test_long_texts_open_as_a_heatmap_and_short_ones_as_lines(show):
    assert show(made_up.view("head", 257, layers=1, heads=1)).scene["as"] == "heatmap"
    assert show(made_up.view("head", 256, layers=1, heads=1)).scene["as"] == "lines"


def test_the_pointer_reads_the_exact_weight(show):
    shown = show(made_up.view("head", 20, layers=1, heads=2, state={"as": "heatmap", "heads": [1]}))
    true = made_up.trace(20, layers=1, heads=2).weights[0, 1]  # [query, key]
    box = shown.page.locator("canvas").bounding_box()
    shown.page.mouse.move(box["x"] + 300, box["y"] + 300)
    text = shown.page.locator(".tip").inner_text()
    value, row, col = re.search(r"(\d\.\d{3})\s+L0·H1 · (\d+) → (\d+)", text).groups()
    assert value == f"{true[int(row), int(col)]:.3f}"


def test_one_head_at_a_time(show):
    shown = show(made_up.view("head", 20, layers=1, heads=3, state={"as": "heatmap"}))
    assert shown.scene["cells"]["name"] == "L0·H0"
    shown.click("[data-head='2']")
    shown.until("scene.cells.name === 'L0·H2' && state.heads.join() === '2'")
    shown.page.keyboard.press("ArrowLeft")
    shown.until("scene.cells.name === 'L0·H1'")


@pytest.mark.slow
def test_4096_tokens_open_zoom_and_pan(show):
    shown = show(made_up.view("head", 4096, layers=1, heads=1))
    cells = shown.scene["cells"]
    assert (cells["rows"], cells["columns"], cells["window"]["right"]) == (4096, 4096, 4096)
    box = shown.page.locator("canvas").bounding_box()
    x, y = box["x"] + 300, box["y"] + 300
    shown.page.mouse.move(x, y)
    for _ in range(6):
        shown.page.mouse.wheel(0, -400)
    shown.until("state.zoom.k > 10")
    before = shown.scene["cells"]["window"]
    shown.page.mouse.down()
    shown.page.mouse.move(x - 80, y - 40, steps=4)
    shown.page.mouse.up()
    shown.until(f"state.zoom.x * 4096 > {before['left']} && state.zoom.y * 4096 > {before['top']}")
    assert shown.state["locked"] == []  # a drag is not a click
    shown.page.get_by_role("button", name="Whole map").click()
    shown.until("state.zoom.k === 1 && scene.cells.window.right === 4096")


def test_on_a_phone_the_buttons_stand_beside_the_map(show):
    shown = show(made_up.view("head", 300, layers=1, heads=1), width=360, height=740, has_touch=True, is_mobile=True)
    map_, button = shown.page.locator("canvas").bounding_box(), shown.page.get_by_role("button", name="Zoom in").bounding_box()
    assert button["y"] >= map_["y"] + map_["height"]
    assert min(button["width"], button["height"]) >= 44


def test_zoom_by_buttons_and_keys(show):
    shown = show(made_up.view("head", 300, layers=1, heads=1))
    shown.page.get_by_role("button", name="Zoom in").click()
    shown.until("state.zoom.k > 1.5")
    shown.page.keyboard.press("0")
    shown.until("state.zoom.k === 1")


def test_a_click_locks_the_query(show):
    shown = show(made_up.view("head", 20, layers=1, heads=1, state={"as": "heatmap"}))
    box = shown.page.locator("canvas").bounding_box()
    shown.page.mouse.click(box["x"] + 300, box["y"] + 300)
    shown.until("state.locked.length === 1")
