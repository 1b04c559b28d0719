"""The head view: every control does what it says, checked on what is drawn."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache

import numpy as np
import pytest

import eyeline as el
from tests.browser import made_up
from tests.tiers import slow_but


@pytest.fixture
def head(show):
    return show(el.head_view(trace(), layer=0))


@lru_cache(maxsize=1)
def trace() -> el.Trace:
    return made_up.trace(12, layers=3, heads=4, pair=True)


def weights(layer: int, head: int) -> np.ndarray:
    return trace().weights[layer, head]  # [query, key]


def test_lines_carry_the_true_weights(head):
    for line in head.scene["lines"]:
        true = weights(0, line["head"])[line["from"], line["to"]]
        assert abs(line["weight"] - true) < 0.0005
    assert len({line["head"] for line in head.scene["lines"]}) == 4


def test_stronger_weights_are_drawn_stronger(head):
    lines = sorted(head.scene["lines"], key=lambda line: line["weight"])
    opacities = [line["opacity"] for line in lines]
    assert opacities == sorted(opacities)
    assert opacities[0] < opacities[-1]


def test_hovering_shows_one_token_and_its_numbers(head):
    head.hover("queries", 3)
    head.until("scene.numbers.length === 12")
    scene = head.scene
    assert {line["from"] for line in scene["lines"]} == {3}
    mean = np.mean([weights(0, h)[3] for h in range(4)], axis=0)
    assert np.allclose([number["value"] for number in scene["numbers"]], mean, atol=0.0005)
    head.page.mouse.move(2, 2)
    head.until("scene.numbers.length === 0")
    assert len({line["from"] for line in head.scene["lines"]}) == 12


def test_locked_tokens_are_summed_and_escape_lets_go(head):
    head.tap("queries", 2)
    head.tap("queries", 5)
    head.until("state.locked.length === 2")
    summed = np.mean([weights(0, h)[[2, 5]].sum(0) for h in range(4)], axis=0)
    assert np.allclose([number["value"] for number in head.scene["numbers"]], summed, atol=0.001)
    head.tap("queries", 2)
    head.until("state.locked.join() === '5'")
    head.page.keyboard.press("Escape")
    head.until("state.locked.length === 0 && scene.numbers.length === 0")


def test_a_click_on_a_key_turns_the_direction_round(head):
    head.tap("keys", 4)
    head.until("state.direction === 'to' && state.locked.join() === '4'")
    assert {line["to"] for line in head.scene["lines"]} == {4}
    mean = np.mean([weights(0, h)[:, 4] for h in range(4)], axis=0)
    assert np.allclose([number["value"] for number in head.scene["numbers"]], mean, atol=0.0005)
    head.click("button[data-name=direction][value=from]")
    head.until("state.direction === 'from' && state.locked.join() === '4' && scene.lines.every((line) => line.from === 4)")


def test_head_boxes_switch_and_a_double_click_leaves_one_alone(head):
    head.click("[data-head='1']")
    head.until("state.heads.join() === '0,2,3'")
    head.until("!scene.lines.some((line) => line.head === 1)")
    head.page.locator("[data-head='2']").dblclick()
    head.until("state.heads.join() === '2' && scene.lines.every((line) => line.head === 2)")
    head.click("[data-name=none]")
    head.page.get_by_text("No head is switched on").wait_for()
    head.click("[data-name=all]")
    head.until("state.heads.length === 4 && scene.lines.length > 0")


def test_layers_by_menu_buttons_and_keys(head):
    head.page.locator("select[name=layer]").select_option("2")
    head.until("state.layer === 2")
    head.page.get_by_label("Previous: Layer").click()
    head.until("state.layer === 1")
    head.page.mouse.click(500, 880)
    head.page.keyboard.press("ArrowDown")
    head.page.keyboard.press("ArrowRight")
    head.until("state.layer === 2 && state.heads.join() === '0' && scene.lines.every((line) => line.head === 0)")
    line = max(head.scene["lines"], key=lambda line: line["weight"])
    assert abs(line["weight"] - weights(2, 0)[line["from"], line["to"]]) < 0.0005


PARTS = [("aa", {0}, {0}), ("ab", {0}, {1}), ("ba", {1}, {0}), ("bb", {1}, {1})]


@pytest.mark.parametrize(("choice", "queries", "keys"), slow_but([("ab", {0}, {1})], PARTS))
def test_sentence_pairs(head, choice, queries, keys):
    segments = trace().text.segments
    head.page.locator("select[name=segments]").select_option(choice)
    head.until(f"state.segments === '{choice}'")

    def check() -> None:
        lines = head.scene["lines"]
        assert {segments[line["from"]] for line in lines} == queries
        assert {segments[line["to"]] for line in lines} == keys

    head.soon(check)


def test_hiding_special_tokens_and_renormalising(head):
    special = trace().text.special
    left = [i for i, item in enumerate(special) if not item]
    head.reading()
    head.page.locator("input[name=hide_special]").check()
    head.page.locator("input[name=renormalise]").check()
    head.until(f"scene.queries.length === {len(left)} && state.renormalise")

    def check() -> None:
        for line in head.scene["lines"]:
            row = weights(0, line["head"])[line["from"], left]
            assert abs(line["weight"] - row[left.index(line["to"])] / row.sum()) < 0.0005 / row.sum()  # rounding grows with the row

    head.soon(check)


def test_hiding_the_most_attended_token(head):
    sink = int(np.argmax(sum(weights(0, h).sum(0) for h in range(4))))
    head.reading()
    head.page.locator("input[name=hide_sink]").check()
    head.until("scene.keys.length === 11")
    assert sink not in {line["to"] for line in head.scene["lines"]}
    assert len(head.scene["queries"]) == 12


def test_threshold_and_rescaling(head):
    head.reading()
    head.page.locator("input[name=threshold]").fill("0.8")
    head.until("Math.abs(state.threshold - 0.512) < 1e-6 && scene.lines.every((line) => line.weight >= 0.512)")
    head.page.locator("input[name=threshold]").fill("0")
    head.page.locator("input[name=rescale]").check()
    head.until(
        "state.rescale && [0, 1, 2, 3].every((h) => Math.max(...scene.lines.filter((l) => l.head === h).map((l) => l.opacity)) > 0.99)"
    )


def test_mean_and_max_over_heads_and_layers(head):
    head.reading()
    head.click("button[data-name=combine][value=max]")
    head.page.locator("[data-name=combine_layers] .box").nth(1).click()
    head.until("state.combine_layers.join() === '1' && scene.lines.every((line) => line.head === -1)")
    most = np.max([weights(layer, h) for layer in (0, 1) for h in range(4)], axis=0)

    def check() -> None:
        for line in head.scene["lines"]:
            assert abs(line["weight"] - most[line["from"], line["to"]]) < 0.0005

    head.soon(check)


def test_word_level_pools_pieces(show):
    shown = show(made_up.view("head", 12, layers=1, heads=1))
    shown.click("button[data-name=level][value=word]")
    words = [word for word in made_up.text(12).words if word is not None]
    shown.until(f"scene.queries.length === {len(set(words)) + 2}")
    shown.reading()
    rows: dict[int, float] = {}
    for line in shown.scene["lines"]:
        rows[line["from"]] = rows.get(line["from"], 0) + line["weight"]
    assert all(0.9 < total < 1.01 for total in rows.values())


def test_what_is_searched_for_comes_into_sight(show):
    text = made_up.text(200)
    text = replace(text, tokens=(*text.tokens[:150], "Needle", *text.tokens[151:]))
    shown = show(made_up.view("head", 200, layers=1, heads=2, tokens=text))
    needle = shown.page.locator("[role=listbox][aria-label=queries] [role=option]", has_text="Needle")
    assert needle.count() == 0  # far below the window
    shown.page.locator("input[name=find]").fill("needle")
    shown.until("state.find === 'needle'")
    needle.wait_for(state="attached")
    drawing = shown.page.locator(".scroll").bounding_box()
    assert drawing["y"] < needle.bounding_box()["y"] < drawing["y"] + drawing["height"]


@pytest.mark.parametrize("shown_as", slow_but(["lines"], ["lines", "heatmap"]))
def test_enter_walks_from_match_to_match_and_round(show, shown_as):
    text = made_up.text(200)
    where = (20, 90, 150)
    text = replace(text, tokens=tuple("needle" if i in where else token for i, token in enumerate(text.tokens)))
    shown = show(made_up.view("head", 200, layers=1, heads=2, tokens=text, state={"as": shown_as}))
    shown.page.locator("input[name=find]").fill("needle")
    shown.until("state.find === 'needle'")
    index = "Math.min(...scene.lines.map(line => line.from))" if shown_as == "lines" else "scene.pointed?.row"
    walk = zip(("Enter", "Enter", "Enter", "Enter", "Shift+Enter", "Shift+Enter"), (20, 90, 150, 20, 150, 90), strict=True)
    for key, position in walk:
        shown.page.keyboard.press(key)
        shown.until(f"{index} === {position}")
    assert shown.errors == []


def test_scrolling_rests_on_all_lines(show):
    shown = show(made_up.view("head", 200, layers=1, heads=12))
    shown.page.locator(".scroll").evaluate("box => { box.scrollTop = 900; }")
    shown.page.wait_for_timeout(50)
    shown.until("scene.lines.length > 5000")
    lightest = "Math.min(...document.getElementById('view').eyeline.scene().lines.slice(0, 5000).map((line) => line.weight))"
    assert shown.page.evaluate(lightest) < 0.01


def test_tokens_can_be_reached_and_locked_by_keyboard(head):
    head.page.locator("[role=listbox][aria-label=queries]").focus()
    for _ in range(3):
        head.page.keyboard.press("ArrowDown")
    head.until("scene.numbers.length === 12 && new Set(scene.lines.map((line) => line.from)).size === 1")
    assert head.state["layer"] == 0
    assert {line["from"] for line in head.scene["lines"]} == {3}
    assert "Looks at:" in head.page.locator("[aria-live]").inner_text()
    head.page.keyboard.press("Enter")
    head.until("state.locked.join() === '3'")


def test_encoder_decoder_and_cross_attention(show):
    shown = show(made_up.crossed())
    shown.page.locator("select[name=layer]").select_option("5")
    shown.page.locator("select[name=stack]").select_option(label="Cross")
    shown.until("state.stack === 2 && scene.queries.length === 9 && scene.keys.length === 14")
    assert shown.state["layer"] == 2  # this stack has only three layers
    assert shown.page.locator("select[name=layer] option").count() == 3
    shown.page.locator("select[name=stack]").select_option(label="Decoder")
    shown.until("scene.keys.length === 9 && scene.lines.every((line) => line.to <= line.from)")


def test_more_heads_than_colours_in_the_palette(show):
    shown = show(made_up.view("head", 8, layers=1, heads=40))
    colours = shown.page.locator("[data-head]").evaluate_all("boxes => boxes.map((box) => getComputedStyle(box).backgroundColor)")
    assert len(set(colours)) == 40


@pytest.mark.parametrize("head", slow_but([5], [0, 5, 11]))
def test_the_numbers_of_a_locked_token_are_those_of_the_model(show, cat, head):
    shown = show(el.head_view(cat, layer=4, heads=[head]))
    token = cat.text.tokens.index("cat")
    shown.tap("queries", token)
    shown.until(f"state.locked.join() === '{token}' && scene.numbers.length > 0")
    numbers = shown.scene["numbers"]
    assert [number["position"] for number in numbers] == list(range(len(cat.text)))
    np.testing.assert_allclose([number["value"] for number in numbers], cat.weights[4, head, token], atol=0.0005)
    shown.page.locator("select[name=segments]").select_option("ab")
    shown.until("scene.keys.length < scene.queries.length")
    assert shown.scene["keys"] == [t for t, segment in zip(cat.text.tokens, cat.text.segments, strict=True) if segment == 1]
    shown.click("button[data-name=level][value=word]")
    shown.until("state.level === 'word'")
    assert shown.errors == []


@pytest.mark.slow
def test_the_fainter_lines_follow_by_themselves(show):
    """A page draws its strongest lines at once, so that it opens quickly, and the others soon after; `scene` draws them all at once."""
    view = made_up.view("head", 40, layers=1, heads=12)
    picture = "document.getElementById('view').firstElementChild.shadowRoot.querySelector('canvas').toDataURL()"
    whole = show(view)
    assert len(whole.scene["lines"]) > 2000
    drawn_at_once = whole.page.evaluate(picture)
    untouched = show(view)

    def complete() -> None:
        assert untouched.page.evaluate(picture) == drawn_at_once

    untouched.soon(complete)


def test_lines_to_a_token_that_gets_most_of_the_attention_are_left_out_and_said(show):
    shown = show(made_up.view("head", 12, layers=1, heads=4, state={"heads": [2]}))
    switch = shown.page.locator("[data-name=mute_sinks]")
    assert "“[CLS]” gets" in switch.locator("..").inner_text()
    assert len(shown.scene["lines"]) > 20
    assert 0 not in {line["to"] for line in shown.scene["lines"]}
    switch.click()
    shown.until("!state.mute_sinks && scene.lines.some((line) => line.to === 0)")
    switch.click()
    shown.until("state.mute_sinks && !scene.lines.some((line) => line.to === 0)")
    plain = show(made_up.view("head", 12, layers=1, heads=4, state={"heads": [0]}))
    assert not plain.page.locator("[data-name=mute_sinks]:visible").count()
