"""A saved page keeps its state in its address: links, reload, Back and Forward show the same, and what cannot be shown is said."""

from __future__ import annotations

import pytest

from tests.browser import made_up


def hash_of(shown) -> str:
    return shown.page.evaluate("decodeURIComponent(location.hash)")


def test_back_and_forward_go_through_what_was_clicked(show):
    shown = show(made_up.sentence(12))
    shown.tap("tokens", 5)
    shown.until("state.locked.join() === '5'")
    shown.wait("decodeURIComponent(location.hash).includes('locked=[5]')")
    shown.page.wait_for_timeout(700)  # what follows faster is one step
    shown.page.keyboard.press("ArrowDown")
    shown.until("state.layer === 1")
    assert hash_of(shown).startswith("#L1·H0&locked=[5]")
    shown.page.go_back()
    shown.until("state.layer === 0 && state.locked.join() === '5'")
    shown.page.go_back()
    shown.until("state.locked.length === 0")
    assert hash_of(shown) == ""
    shown.page.go_forward()
    shown.page.go_forward()
    shown.until("state.layer === 1 && state.locked.join() === '5'")


@pytest.mark.parametrize("kind", ["head", "model"])
def test_a_reload_shows_the_same(show, kind):
    shown = show(made_up.view(kind, 10, layers=3, heads=4, state={"heads": [0]} if kind == "head" else {}))
    shown.reading()
    shown.page.locator("input[name=hide_special]").check()
    shown.page.locator("select[name=theme]").select_option("dark")
    shown.until("state.hide_special && state.theme === 'dark'")
    before = shown.state
    shown.page.reload()
    shown.page.wait_for_selector("#view[data-drawn]", state="attached")
    assert shown.state == before
    assert shown.page.evaluate("document.documentElement.dataset.theme") == "dark"


def test_a_head_opened_from_all_heads_is_left_by_back(show):
    shown = show(made_up.view("model", 10, layers=3, heads=4))
    thumbnail = next(each for each in shown.scene["thumbnails"] if each["name"] == "L2·H1")
    box = shown.page.locator("canvas").first.bounding_box()
    shown.page.mouse.click(box["x"] + thumbnail["x"] + 10, box["y"] + thumbnail["y"] + 10)
    shown.until("state.opened")
    assert hash_of(shown).startswith("#L2·H1")
    shown.page.go_back()
    shown.until("!state.opened && scene.kind === 'model'")


def test_an_address_of_a_layer_that_is_not_there_says_so(show, tmp_path):
    view = made_up.sentence(10)
    view.save(tmp_path / "x.html")
    shown = show(view)
    url = shown.page.url
    shown.page.goto("about:blank")
    shown.page.goto(f"{url}#L99·H1")
    shown.page.wait_for_selector("#view[data-drawn]", state="attached")
    assert "names L99·H1, which is not in this view" in shown.page.locator(".notice").inner_text()
    assert shown.state["layer"] == 0
