"""The head view on the screen: zoom, arrowheads, and how it fills a window or a phone."""

from __future__ import annotations

import pytest

from tests.browser import made_up
from tests.browser.conftest import saved

pytestmark = pytest.mark.slow


def test_a_long_text_fills_the_window_with_whole_rows(show):
    shown = show(made_up.view("head", 128, layers=1, heads=2))
    for height in (900, 720):
        shown.page.set_viewport_size({"width": 1000, "height": height})
        shown.wait(f"innerHeight === {height}")
        shown.page.wait_for_timeout(200)
        drawing = shown.page.locator(".scroll").bounding_box()
        note = shown.page.locator(".note").bounding_box()
        assert (drawing["height"] - 26) % 18 == 0
        assert height - 60 < note["y"] + note["height"] <= height
        assert shown.page.evaluate("document.documentElement.scrollHeight") <= height


def row_height(shown) -> float:
    return shown.page.locator("[role=listbox][aria-label=queries] [role=option]").first.bounding_box()["height"]


def test_the_lines_zoom_by_buttons_and_back(show):
    shown = show(made_up.view("head", 12, layers=1, heads=2))
    before = row_height(shown)
    shown.click("[data-name=zoom_in]")
    shown.click("[data-name=zoom_in]")
    shown.until("state.zoom.k > 1.5")
    shown.soon(lambda: _larger(shown, before * 1.4))
    shown.click("[data-name=zoom_reset]")
    shown.until("state.zoom.k === 1")
    shown.soon(lambda: _as(shown, before))


def test_zoomed_tokens_keep_all_their_letters(show):
    shown = show(made_up.view("head", 8, layers=1, heads=1))
    for steps in range(1, 5):
        shown.click("[data-name=zoom_in]")
        shown.until(f"Math.abs(state.zoom.k - {1.25**steps}) < 0.001")
        assert saved(shown, "svg").read_text(encoding="utf-8").count(">[CLS]<") == 2


def _larger(shown, than: float) -> None:
    assert row_height(shown) > than


def _as(shown, height: float) -> None:
    assert row_height(shown) == height


def test_ctrl_and_the_wheel_zoom_the_lines_and_the_wheel_alone_does_not(show):
    shown = show(made_up.view("head", 60, layers=1, heads=2))
    x, y = shown.option("queries", 10)
    shown.page.mouse.move(x, y)
    shown.page.mouse.wheel(0, -100)
    shown.page.wait_for_timeout(200)
    assert shown.state["zoom"]["k"] == 1
    shown.page.keyboard.down("Control")
    shown.page.mouse.wheel(0, -200)
    shown.page.keyboard.up("Control")
    shown.until("state.zoom.k > 1.2")

    def stays() -> None:
        assert abs(shown.option("queries", 10)[1] - y) < 12  # the row under the pointer keeps its place

    shown.soon(stays)


def test_two_fingers_zoom_the_lines(show):
    shown = show(made_up.view("head", 12, layers=1, heads=2), has_touch=True)
    shown.page.evaluate(
        """() => {
          const scroll = document.getElementById('view').firstElementChild.shadowRoot.querySelector('.scroll');
          const at = (y) => new Touch({ identifier: y, target: scroll, clientX: 200, clientY: y });
          const touches = (a, b) => ({ touches: [at(a), at(b)], bubbles: true, cancelable: true });
          const send = (type, a, b) => scroll.dispatchEvent(new TouchEvent(type, touches(a, b)));
          send('touchstart', 300, 400);
          send('touchmove', 250, 450);
        }"""
    )
    shown.until("state.zoom.k === 2")


def test_the_head_view_fills_a_wide_window(show):
    shown = show(made_up.view("head", 12, layers=1, heads=2), width=1600)
    assert shown.page.locator("canvas").first.bounding_box()["width"] > 0.9 * 1600


def test_a_pointed_tokens_lines_have_arrowheads_at_their_keys(show):
    """In the saved picture, which is drawn from the same scene: closed paths appear with the pointer and not without."""
    shown = show(made_up.view("head", 8, layers=1, heads=1), accept_downloads=True)

    def closed_paths() -> int:
        return saved(shown, "svg").read_text(encoding="utf-8").count("Z")

    assert closed_paths() == 0
    shown.tap("queries", 3)
    shown.until("state.locked.length === 1")
    assert closed_paths() > 0


def test_on_a_phone_the_reading_panel_leaves_its_button_free(show):
    shown = show(made_up.view("head", 12, layers=1, heads=2), width=360, height=740, has_touch=True, is_mobile=True)
    shown.reading()
    button = shown.page.locator("[data-name=reading]").bounding_box()
    panel = shown.page.locator(".panel:visible").bounding_box()
    assert panel["y"] >= button["y"] + button["height"]
    shown.reading()
    assert shown.page.locator(".panel:visible").count() == 0
