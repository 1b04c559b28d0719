"""The sentence view: the words themselves, arcs from the chosen one with the true weights, and every way to choose."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.look.views.view import View
from eyeline.traces import TokenizedText
from tests.browser import made_up
from tests.browser.conftest import saved

WORDS = ["[CLS]", "the", "cat", "sat", "on", "my", "old", "mat", "[SEP]"]


def with_weights(weights: np.ndarray, **options: object) -> View:
    """weights: [head, query, key]"""
    return el.sentence_view(el.Trace.from_arrays([weights], WORDS[: weights.shape[1]]), layer=0, head=0, **options)


def weights_of(view: View, head: int = 0) -> np.ndarray:
    return view.weights(0, 0)[head]


def test_a_click_on_a_word_draws_its_arcs_with_the_weights_of_the_head(show):
    view = made_up.sentence(12)
    shown = show(view)
    shown.tap("tokens", 5)
    shown.until("state.locked.join() === '5' && scene.lines.length > 0")
    true = weights_of(view)[5]
    assert {line["from"] for line in shown.scene["lines"]} == {5}
    drawn = {line["to"]: line["weight"] for line in shown.scene["lines"]}
    assert set(drawn) == set(np.flatnonzero(true >= 0.005))
    assert [drawn[key] for key in sorted(drawn)] == pytest.approx([true[key] for key in sorted(drawn)], abs=1e-6)
    assert [number["value"] for number in shown.scene["numbers"]] == pytest.approx(true, abs=1e-6)


def test_a_click_chooses_another_word_and_shift_adds_one(show):
    view = made_up.sentence(12)
    shown = show(view)
    shown.tap("tokens", 5)
    shown.tap("tokens", 7)
    shown.until("state.locked.join() === '7'")
    shown.page.keyboard.down("Shift")
    shown.tap("tokens", 3)
    shown.page.keyboard.up("Shift")
    shown.until("state.locked.join() === '7,3'")
    both = weights_of(view)[[3, 7]].sum(axis=0)
    assert [number["value"] for number in shown.scene["numbers"]] == pytest.approx(both, abs=1e-6)
    shown.tap("tokens", 3)
    shown.until("state.locked.join() === '3'")
    shown.tap("tokens", 3)
    shown.until("state.locked.length === 0")


def test_escape_shows_all_lines_and_the_button_brings_the_word_back(show):
    shown = show(made_up.sentence(12, state={"locked": [5]}))
    shown.tap("tokens", 5)
    shown.tap("tokens", 4)
    shown.page.keyboard.press("Escape")
    shown.until("state.locked.length === 0 && new Set(scene.lines.map((line) => line.from)).size > 3")
    assert min(line["weight"] for line in shown.scene["lines"]) >= 0.05
    shown.tap("tokens", 4)
    shown.click("[data-name=all-lines]")
    shown.until("state.locked.length === 0")
    shown.click("[data-name=all-lines]")
    shown.until("state.locked.join() === '4'")


def test_looked_at_by_turns_the_arcs_round(show):
    view = made_up.sentence(12, state={"locked": [5], "direction": "to"})
    shown = show(view)
    assert {line["to"] for line in shown.scene["lines"]} == {5}
    assert [number["value"] for number in shown.scene["numbers"]] == pytest.approx(weights_of(view)[:, 5], abs=1e-6)


def test_words_are_reached_and_said_by_the_keyboard(show):
    view = made_up.sentence(12)
    shown = show(view)
    shown.page.locator("[role=listbox]").focus()
    for _ in range(3):
        shown.page.keyboard.press("ArrowRight")
    best = int(weights_of(view)[3].argmax())
    said = shown.page.locator("[aria-live=polite]").inner_text()
    assert f"{made_up.text(12).tokens[best]} {weights_of(view)[3].max():.3f}" in said
    shown.page.keyboard.press("Enter")
    shown.until("state.locked.join() === '3'")
    shown.page.keyboard.press("ArrowDown")  # the layer, as in every view
    shown.until("state.layer === 1 && state.locked.join() === '3'")


def test_arrows_change_head_and_layer(show):
    shown = show(made_up.sentence(12))
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("ArrowDown")
    shown.until("state.layer === 1 && state.heads.join() === '1'")
    assert "L1·H1" in shown.page.locator(".caption").inner_text()


def test_a_sink_is_left_out_and_its_share_is_said(show):
    weights = np.full((1, 8, 8), 0.4 / 7, dtype=np.float32)
    weights[:, :, 0] = 0.6
    shown = show(with_weights(weights, locked=[3]))
    assert 0 not in {line["to"] for line in shown.scene["lines"]}
    assert len(shown.scene["lines"]) == 7
    assert "“[CLS]” gets 60 %" in shown.page.locator(".hint:visible").inner_text()
    assert shown.scene["numbers"][0]["value"] == pytest.approx(0.6, abs=1e-3)
    shown.click("[data-name=mute_sinks]")
    shown.until("!state.mute_sinks && scene.lines.some((line) => line.to === 0)")
    shown.click("[data-name=mute_sinks]")
    shown.until("state.mute_sinks && !scene.lines.some((line) => line.to === 0)")


def test_a_long_sentence_has_several_lines_and_no_word_lies_on_another(show):
    shown = show(made_up.sentence(60, state={"locked": [20]}), width=360)
    assert shown.scene["rows"] > 5
    boxes = shown.page.locator("[role=option]").evaluate_all(
        "all => all.map((e) => { const b = e.getBoundingClientRect(); return [b.left, b.top, b.right, b.bottom]; })"
    )
    assert len(boxes) == 60
    for one in range(60):
        for other in range(one):
            (a, b, c, d), (e, f, g, h) = boxes[one], boxes[other]
            assert c <= e + 0.5 or g <= a + 0.5 or d <= f + 0.5 or h <= b + 0.5, (one, other)
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_on_a_phone_the_picture_comes_before_its_controls(show):
    shown = show(made_up.sentence(12), width=360, height=800)
    assert shown.page.locator("canvas").bounding_box()["y"] < 300
    assert shown.page.locator("canvas").bounding_box()["y"] < shown.page.locator(".controls").bounding_box()["y"]
    shown = show(made_up.sentence(12), width=1200, height=800)
    assert shown.page.locator("canvas").bounding_box()["y"] < 200
    assert shown.page.locator(".controls").bounding_box()["y"] < shown.page.locator("canvas").bounding_box()["y"]


def test_play_goes_through_the_layers_and_stops(show):
    shown = show(made_up.sentence(10, layers=3))
    shown.click("[data-name=play]")
    shown.until("state.layer === 2")
    shown.soon(lambda: shown.page.locator("[data-name=play]", has_text="▶").wait_for())


def test_queries_and_keys_of_two_texts_stand_below_each_other(show):
    shown = show(el.sentence_view(made_up.crossed_trace(), stack="cross", layer=0, head=0, locked=[2]))
    assert {line["from"] for line in shown.scene["lines"]} == {2}
    assert len(shown.scene["keys"]) == 14
    assert len(shown.scene["queries"]) == 9
    assert shown.page.locator("[role=option]").count() == 23


def test_capitals_and_accents_are_those_of_the_text_and_the_blank_is_a_rule(show):
    side = TokenizedText(
        ("el", "##ise", "saw", "[MASK]"), words=(0, 0, 1, 2), word_texts=("Élise", "saw", "[MASK]"), segments=(0,) * 4, special=(False,) * 4
    )
    shown = show(el.sentence_view(made_up.trace(4, layers=1, heads=1, tokens=side), layer=0, head=0, locked=[3]), accept_downloads=True)
    picture = saved(shown, "svg").read_text(encoding="utf-8")
    assert ">Él<" in picture
    assert ">ise<" in picture
    assert "MASK" not in picture
