"""The space of queries and keys in the browser: all heads, one head, its lines, the sentence beside it, two models side by side."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from tests.browser import made_up_space as made_up
from tests.browser.space.space_on_screen import SCENE, canvas_box, opened, pixels, point_on_screen
from tests.tiers import slow_but


def test_every_head_has_a_scatter_with_its_name_and_fidelity(show):
    shown = show(made_up.view(layers=3, heads=4))
    assert [t["name"] for t in shown.scene["thumbnails"]] == [f"L{layer}·H{head}" for layer in range(3) for head in range(4)]
    box = canvas_box(shown)
    shown.page.mouse.move(box["x"] + 30, box["y"] + 40)
    shown.page.locator(".tip", has_text="L0·H0").wait_for()
    assert "64.0 %" in shown.page.locator(".tip").inner_text()
    assert shown.errors == []


def test_a_click_opens_a_head_and_the_keyboard_goes_back(show):
    shown = show(made_up.view(layers=3, heads=4))
    thumbnail = shown.scene["thumbnails"][6]
    box = canvas_box(shown)
    shown.page.mouse.click(box["x"] + thumbnail["x"] + 20, box["y"] + thumbnail["y"] + 20)
    shown.until(f"state.opened && scene.spaces?.[0]?.head === '{thumbnail['name']}'")
    shown.page.keyboard.press("ArrowDown")
    shown.until("state.layer === 2 && scene.spaces[0].head === 'L2·H2'")
    shown.page.keyboard.press("Escape")
    shown.until("!state.opened && scene.thumbnails?.length === 12")
    for key in ("ArrowRight", "ArrowRight", "ArrowDown", "Enter"):
        shown.page.keyboard.press(key)
    shown.until("state.opened && state.layer === 1 && state.heads[0] === 1")


def test_hovering_names_token_sentence_and_weight(show):
    shown = opened(show)
    point = 3  # a query: head 2 looks at the token before
    shown.page.mouse.move(*point_on_screen(shown, point))
    shown.until("scene.spaces[0].hovered >= 0")
    hovered = shown.page.evaluate(f"{SCENE}.hovered")
    tip = shown.page.locator(".tip")
    token = made_up.tokens([12, 9, 14]).strings[hovered % 35]
    shown.soon(lambda: _has(tip.inner_text(), token, "Text", "position"))
    assert ("Query" in tip.inner_text()) == (hovered < 35)
    links = shown.page.evaluate(f"{SCENE}.links")
    assert links
    assert all(hovered in (link["from"], link["to"]) for link in links)


def _has(text: str, *parts: str) -> None:
    for part in parts:
        assert part in text


def test_a_click_on_a_point_shows_its_sentence_and_its_lines(show):
    shown = opened(show, heads=3)
    space = made_up.space([12, 9, 14])
    stack = space.only
    shown.page.mouse.click(*point_on_screen(shown, 15))
    shown.until("state.point !== null && scene.spaces[0].sentence?.lines?.length > 0")
    state, drawn = shown.state, shown.page.evaluate(SCENE)
    text = int(stack.query_tokens.text[state["point"] % 35])
    assert state["text"] == text
    assert drawn["sentence"]["queries"] == list(stack.query_tokens.texts[text].tokens)
    weights = stack.map(1, 2, text)
    assert weights is not None
    for line in drawn["sentence"]["lines"]:
        assert line["weight"] == pytest.approx(weights[line["from"], line["to"]], abs=0.005)
    is_query = state["point"] < 35
    for link in drawn["links"]:
        assert link["from" if is_query else "to"] == state["point"]
    shown.click("[data-name=close_text]")
    shown.until("state.text === null && state.point === null")


def test_a_token_held_in_the_sentence_is_the_point_chosen(show):
    shown = opened(show, state={"text": 1})
    shown.until("scene.spaces[0].sentence?.lines?.length > 0")
    shown.tap("queries", 4)
    shown.until("state.point === 12 + 4")
    shown.tap("keys", 2)
    shown.until("state.point === 35 + 12 + 2")


def test_lines_of_every_query_and_the_strongest_of_a_text(show):
    shown = opened(show)
    shown.page.locator("select[name=links]").select_option("best")
    shown.until("scene.spaces[0].links.length === 35")
    stack = made_up.space([12, 9, 14]).only
    for link in shown.page.evaluate(f"{SCENE}.links"):
        assert link["to"] - 35 == stack.top_keys[1, 2, link["from"], 0]
        assert link["weight"] == pytest.approx(stack.top_weights[1, 2, link["from"], 0], abs=0.0005)
    shown.page.locator("select[name=links]").select_option("top")
    shown.until("state.text === null && scene.spaces[0].links.length === 20")  # none was chosen: of all texts
    every = -np.sort(-stack.top_weights[1, 2], axis=None)[:20]
    assert [link["weight"] for link in shown.page.evaluate(f"{SCENE}.links")] == pytest.approx(every.tolist(), abs=0.0005)
    shown.page.locator("select[name=text]").select_option("1")
    shown.page.locator("select[name=links_top]").select_option("5")
    shown.until("scene.spaces[0].links.length === 5")
    strongest = -np.sort(-stack.map(1, 2, 1), axis=None)[:5]
    assert [link["weight"] for link in shown.page.evaluate(f"{SCENE}.links")] == pytest.approx(strongest.tolist(), abs=0.005)


def test_chosen_word_pairs_are_red(show):
    shown = opened(show)
    shown.page.locator("input[name=pairs]").fill("brown → quick")
    shown.until("scene.spaces[0].red.length === 3")
    strings = made_up.tokens([12, 9, 14]).strings
    for link in shown.page.evaluate(f"{SCENE}.red"):
        assert (strings[link["from"]], strings[link["to"] - 35]) == ("brown", "quick")
    assert not shown.page.get_by_text("0 matches").is_visible()
    shown.page.locator("input[name=pairs]").fill("brown:zebra")
    shown.until("scene.spaces[0].red.length === 0")
    shown.page.get_by_text("0 matches: brown → zebra").wait_for()


@pytest.mark.slow
def test_a_search_lifts_what_it_finds_and_enter_walks_through_it(show):
    shown = opened(show)
    shown.page.locator("input[name=find]").fill("lazy")
    shown.until("scene.spaces[0].labelled.length > 0")
    strings = made_up.tokens([12, 9, 14]).strings
    assert {strings[point % 35] for point in shown.page.evaluate(f"{SCENE}.labelled")} == {"lazy"}
    shown.page.keyboard.press("Enter")
    shown.until("state.point !== null")
    assert strings[shown.state["point"] % 35] == "lazy"


@pytest.mark.slow
def test_a_lasso_holds_points_into_the_next_head(show):
    shown = opened(show)
    box = canvas_box(shown)
    shown.page.locator("button[value=lasso]").click()
    mouse = shown.page.mouse
    mouse.move(box["x"] + 5, box["y"] + 60)
    mouse.down()
    for x, y in ((box["width"] / 2, 60), (box["width"] / 2, box["height"] - 40), (5, box["height"] - 40), (5, 70)):
        mouse.move(box["x"] + x, box["y"] + y, steps=4)
    positions = shown.page.evaluate(f"{SCENE}.positions")
    mouse.up()
    shown.until("state.lasso.length > 0")
    inside = {i for i, (x, y) in enumerate(positions) if 6 < x < box["width"] / 2 - 1 and 61 < y < box["height"] - 41}
    assert inside <= set(shown.state["lasso"])
    held = shown.state["lasso"]
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("ArrowUp")
    shown.until("state.layer === 0")
    assert shown.state["lasso"] == held
    shown.click("[data-name=let_go]")
    shown.until("state.lasso.length === 0")


def test_dragging_moves_and_the_wheel_zooms_about_the_pointer(show):
    shown = opened(show)
    x, y = point_on_screen(shown, 7)
    shown.page.mouse.move(x, y)
    shown.page.mouse.wheel(0, -500)
    shown.until("state.zoom.k > 1.5")
    shown.soon(lambda: _near(point_on_screen(shown, 7), (x, y)))
    before = point_on_screen(shown, 7)
    shown.page.mouse.down()
    shown.page.mouse.move(x + 20, y + 10, steps=3)
    shown.page.mouse.up()
    shown.soon(lambda: _near(point_on_screen(shown, 7), (before[0] + 20, before[1] + 10)))
    shown.click("[data-name=zoom_fit]")
    shown.until("state.zoom.k === 1")


def _near(a, b) -> None:
    assert abs(a[0] - b[0]) < 2, (a, b)
    assert abs(a[1] - b[1]) < 2, (a, b)


def test_the_first_drawing_has_its_final_height(show):
    shown = opened(show)
    before = canvas_box(shown)
    shown.page.locator("select[name=colour_points]").select_option("position")
    shown.until("state.colour_points === 'position'")
    assert canvas_box(shown) == before


def test_three_dimensions_turn(show):
    shown = opened(show, dims=3)
    before = shown.page.evaluate(f"{SCENE}.positions")
    box = canvas_box(shown)
    shown.page.mouse.move(box["x"] + 200, box["y"] + 200)
    shown.page.mouse.down()
    shown.page.mouse.move(box["x"] + 300, box["y"] + 230, steps=4)
    shown.page.mouse.up()
    shown.until("state.turn.yaw > 1.2")
    shown.soon(lambda: _moved(before, shown.page.evaluate(f"{SCENE}.positions")))
    assert shown.errors == []


def _moved(before, after) -> None:
    assert np.abs(np.array(before) - np.array(after)).max() > 20


@pytest.mark.parametrize("by", slow_but(["tag"], ["position", "position5", "token", "tag", "text", "norm"]))
def test_points_change_colour(show, by):
    shown = opened(show, state={"theme": "light"})
    plain = pixels(shown)
    shown.page.locator("select[name=colour_points]").select_option(by)
    shown.until(f"state.colour_points === '{by}'")
    shown.soon(lambda: _differ(plain, pixels(shown)))
    assert shown.errors == []


def _differ(a, b) -> None:
    assert a.shape == b.shape, "the drawing keeps its size"
    assert (a != b).any(axis=-1).sum() > 20


def test_parts_of_speech_are_offered_only_where_they_are_known(show):
    shown = opened(show, tagged=False)
    assert shown.page.locator("select[name=colour_points] option[value=tag]").count() == 0


def test_values_have_one_kind_of_point(show):
    shown = opened(show, of="values")
    assert shown.page.evaluate(f"{SCENE}.points") == 35
    shown.page.mouse.click(*point_on_screen(shown, 20))
    shown.until("state.point !== null && scene.spaces[0].links.length > 0")
    assert shown.errors == []


def test_two_spaces_stand_side_by_side_with_the_same_sentence(show):
    before, other = (made_up.space([12, 9, 14], seed=seed, model=f"model {seed}") for seed in (0, 1))
    shown = show(el.space_view(before, other, layer=0, head=1), width=1400)
    assert [space["model"] for space in shown.scene["spaces"]] == ["model 0", "model 1"]
    shown.page.mouse.click(*point_on_screen(shown, 3))
    shown.until("scene.spaces.every((space) => space.sentence?.queries?.length > 0 && space.links.length > 0)")
    first, second = shown.scene["spaces"]
    assert first["sentence"]["queries"] == second["sentence"]["queries"]
    assert first["links"] != second["links"]
    shown.page.keyboard.press("Escape")
    shown.page.keyboard.press("Escape")
    shown.page.keyboard.press("Escape")
    shown.until("scene.thumbnails?.length === 12")
