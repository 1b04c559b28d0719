"""The space view where it is hard: without WebGL, with hostile tokens, narrow, tiny and large."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from tests.browser import made_up_space as made_up
from tests.browser.space.space_on_screen import SCENE, canvas_box, opened, pixels, pixels_of, point_on_screen
from tests.tiers import slow_but

pytestmark = pytest.mark.slow


def test_without_webgl_the_picture_is_the_same(show, browser):
    view = made_up.view([40, 60], state={"opened": True, "layer": 1, "heads": [2], "theme": "light"})
    with_it = pixels(show(view)).astype(float)
    context = browser.new_context(viewport={"width": 1000, "height": 900}, color_scheme="light")
    page = context.new_page()
    page.add_init_script(
        "const get = OffscreenCanvas.prototype.getContext;"
        "OffscreenCanvas.prototype.getContext = function (kind, ...rest) {"
        "  return kind === 'webgl2' ? null : get.call(this, kind, ...rest); };"
    )
    page.set_content(view.html())
    page.wait_for_selector("#view[data-drawn]", state="attached")
    without = pixels_of(page).astype(float)
    context.close()
    assert with_it.shape == without.shape
    assert np.abs(with_it - without).mean() < 1.5  # of 255: edges are smoothed a little differently
    assert (np.abs(with_it - without).max(axis=-1) > 120).mean() < 0.002


def test_tokens_are_text_and_run_nothing(show):
    shown = opened(show, sizes=[16, 16], strange=True, state={"text": 0})
    shown.until("scene.spaces[0].sentence?.queries?.length === 16")
    for point in range(1, 6):
        shown.page.mouse.move(*point_on_screen(shown, point))
    assert shown.page.evaluate("document.getElementById('view').firstElementChild.shadowRoot.querySelectorAll('img, script').length") == 0
    assert shown.errors == []
    assert shown.requests == []


@pytest.mark.parametrize("width", slow_but([360], [360, 700, 1600]))
@pytest.mark.parametrize("state", [{}, {"opened": True, "text": 1}])
def test_no_window_is_too_narrow(show, width, state):
    shown = show(made_up.view(layers=2, heads=12, state=state), width=width)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.errors == []


def test_one_token_and_a_dead_head_are_drawn(show):
    space = made_up.space([2, 2], layers=1, heads=1)
    space.only.keys[:] = 0
    space.only.queries[:] = 0
    shown = show(el.space_view(space, layer=0, head=0))
    assert shown.page.evaluate(f"{SCENE}.points") == 8
    assert shown.errors == []


def test_a_saved_picture_is_vector_and_holds_every_point(show):
    shown = show(made_up.view(state={"opened": True}), accept_downloads=True)
    shown.click("[data-name=save]")
    with shown.page.expect_download() as download:
        shown.click("[data-name=svg]")
    svg = download.value.path().read_text(encoding="utf-8")
    assert svg.count("<circle") >= 35
    assert "64.0 %" in svg


@pytest.mark.slow
def test_144_heads_of_20000_points_are_drawn_and_one_is_opened(show):
    """How many seconds it takes, and how soon a pointer is answered, is measured in benchmarks/pages/space_view.py."""
    shown = show(el.space_view(made_up.many(20_000)))
    assert len(shown.scene["thumbnails"]) == 144
    box = canvas_box(shown)
    shown.page.mouse.click(box["x"] + 120, box["y"] + 60)
    shown.until("state.opened && scene.spaces?.[0]?.points === 20000")
    assert shown.errors == []


def test_a_page_of_144_heads_and_5000_points_is_small(tmp_path):
    view = el.space_view(made_up.many(5_000))
    view.save(tmp_path / "page.html")
    assert (tmp_path / "page.html").stat().st_size < 30e6
