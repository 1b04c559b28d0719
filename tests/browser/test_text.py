"""The text view: a paragraph shaded by the true weights, found words that are counted, listed and jumped to, and the map beside it."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from tests.browser import made_up
from tests.browser.conftest import saved


def test_words_are_shaded_by_what_the_chosen_word_looks_at(show):
    view = made_up.paragraph(300, state={"locked": [50]})
    shown = show(view)
    row = view.weights(0, 0)[0][50]
    assert [number["value"] for number in shown.scene["numbers"]] == pytest.approx(row, abs=1e-6)
    largest = np.delete(row, 50).max()
    assert set(shown.scene["shaded"]) == set(np.flatnonzero(row >= 0.02 * largest))
    assert f"{largest:.3f}" in shown.page.locator(".legend").inner_text()


def test_a_click_on_a_word_chooses_it_and_escape_lets_go(show):
    view = made_up.paragraph(300, state={"locked": [50]})
    shown = show(view)
    box = shown.page.locator("canvas").first.bounding_box()
    shown.page.mouse.click(box["x"] + 60, box["y"] + 14)
    shown.until("state.locked.length === 1 && state.locked[0] < 10")
    chosen = shown.state["locked"][0]
    assert [number["value"] for number in shown.scene["numbers"]] == pytest.approx(view.weights(0, 0)[0][chosen], abs=1e-6)
    shown.page.keyboard.press("Escape")
    shown.until("state.locked.length === 0 && scene.shaded.length === 0")


def test_found_words_are_counted_listed_and_jumped_to(show):
    shown = show(made_up.paragraph(1200))
    body = made_up.text(1200).tokens
    places = [i for i, token in enumerate(body) if token == "quiet"]
    shown.page.locator("input[type=search]").fill("quiet")
    shown.until("state.find === 'quiet'")
    shown.soon(lambda: shown.page.get_by_text(f"{len(places)} matches", exact=True).wait_for())
    assert shown.page.locator(".found [data-match]").count() == len(places)
    shown.page.locator(".found [data-match]").last.click()
    shown.until(f"state.locked.join() === '{places[-1]}' && scene.seen.left <= {places[-1]} && scene.seen.right >= {places[-1]}")
    shown.page.locator("input[type=search]").press("Enter")
    shown.until(f"scene.seen.left <= {places[0]} && scene.seen.right >= {places[0]}")
    assert f"Match 1 / {len(places)}" in shown.page.locator("[aria-live=polite]").inner_text()


def test_a_click_in_the_map_goes_to_that_row(show):
    shown = show(made_up.paragraph(1200))
    box = shown.page.locator(".textmap canvas").bounding_box()
    side = box["height"] - 18
    shown.page.mouse.click(box["x"] + 100, box["y"] + 10 + 0.75 * side)
    shown.until("state.locked.length === 1 && scene.seen.left <= state.locked[0] && scene.seen.right >= state.locked[0]")
    assert shown.state["locked"][0] == pytest.approx(900, abs=8)


def test_words_are_reached_by_the_keyboard(show):
    view = made_up.paragraph(300)
    shown = show(view)
    shown.page.locator("[role=listbox]").focus()
    for _ in range(4):
        shown.page.keyboard.press("ArrowRight")
    said = shown.page.locator("[aria-live=polite]").inner_text()
    assert f"{view.weights(0, 0)[0][4].max():.3f}" in said
    shown.page.keyboard.press("End")
    shown.page.keyboard.press("Enter")
    shown.until("state.locked.join() === '299' && scene.seen.right === 299")


@pytest.mark.parametrize("width", [360, 1200])
def test_the_paragraph_stays_inside_the_window(show, width):
    shown = show(made_up.paragraph(400, state={"locked": [3], "find": "quiet"}), width=width, height=800)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= width
    assert shown.page.locator("canvas").first.bounding_box()["y"] < 200
    boxes = [shown.page.locator(name).bounding_box() for name in (".paragraph", ".textmap")]
    assert all(box["x"] + box["width"] <= width for box in boxes)
    if width == 1200:
        assert boxes[1]["x"] >= boxes[0]["x"] + boxes[0]["width"]


def test_a_saved_picture_holds_the_whole_paragraph(show):
    shown = show(made_up.paragraph(300, state={"locked": [50]}), accept_downloads=True)
    picture = saved(shown, "svg").read_text(encoding="utf-8")
    assert picture.count("<text") >= 300
    assert "data:image/png" in picture  # the map beside it


def test_a_text_of_4096_tokens_is_drawn_and_answers_a_click(show):
    rng = np.random.default_rng(3)
    weights = rng.random((1, 4096, 4096), dtype=np.float32) ** 30
    weights /= weights.sum(axis=-1, keepdims=True)
    tokens = made_up.text(4096).tokens
    shown = show(el.text_view(el.Trace.from_arrays([weights], tokens), layer=0, head=0, locked=[2000]))
    shown.until("scene.seen.left < 2000 && scene.seen.right > 2000")
    box = shown.page.locator("canvas").first.bounding_box()
    before = shown.page.evaluate("performance.now()")
    shown.page.mouse.click(box["x"] + 60, box["y"] + 14)
    shown.until("state.locked[0] !== 2000 && scene.numbers.length === 4096")
    assert shown.page.evaluate("performance.now()") - before < 3000
