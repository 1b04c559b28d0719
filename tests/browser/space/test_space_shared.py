"""One space for all heads and layers in the browser: a token's path, layers that play; and the sheet of one layer with its lines."""

from __future__ import annotations

from tests.browser import made_up_space as made_up
from tests.browser.space.space_on_screen import SCENE, canvas_box


def test_a_chosen_token_has_a_path_through_the_layers(show):
    shown = show(made_up.view(layers=4, of="shared", state={"opened": True, "layer": 1, "heads": [2], "point": 5}))
    assert "of all heads and layers" in shown.page.locator("h1, h2, .title").first.inner_text()
    shown.until("scene.spaces[0].path.length === 4")
    assert shown.page.evaluate(f"{SCENE}.path") == [0, 1, 2, 3]
    shown.page.locator("canvas").first.focus()
    shown.page.keyboard.press("Escape")
    shown.until("scene.spaces[0].path.length === 0")
    assert shown.errors == []


def test_heads_with_axes_of_their_own_have_no_path_and_no_play_button(show):
    shown = show(made_up.view(layers=4, state={"opened": True, "layer": 1, "heads": [2], "point": 5}))
    assert shown.page.evaluate(f"{SCENE}.path") == []
    assert shown.page.locator("[data-name=play]").count() == 0


def test_layers_play_one_after_the_other_until_they_are_stopped(show):
    shown = show(made_up.view(layers=3, of="shared", state={"opened": True, "layer": 0, "heads": [0]}))
    button = shown.page.locator("[data-name=play]")
    button.click()
    shown.until("state.layer === 1 && scene.spaces[0].head === 'L1·H0'")
    shown.until("state.layer === 2 && scene.spaces[0].head === 'L2·H0'")
    button.click()
    assert button.get_attribute("aria-pressed") == "false"


def test_a_sheet_shows_the_heads_of_one_layer_with_lines_and_red_pairs(show):
    first, second = made_up.tokens([12]).strings[2:4]
    pair = {"pairs": f"{second} → {first}"}
    shown = show(made_up.view(layers=3, heads=6, state={"rows": [1], "links": "best", **pair}))
    shown.until("scene.sheet?.length === 6")
    strongest = sum(head["red"] for head in shown.scene["sheet"])  # only where the key is the query's most attended one
    shown = show(made_up.view(layers=3, heads=6, state={"rows": [1], "links": "best", **pair, "every_pair": True}))
    shown.until("scene.sheet?.length === 6")
    assert strongest < sum(head["red"] for head in shown.scene["sheet"])
    assert [thumbnail["layer"] for thumbnail in shown.scene["thumbnails"]] == [1] * 6
    assert all(head["links"] > 0 and head["red"] > 0 for head in shown.scene["sheet"])
    thumbnail, box = shown.scene["thumbnails"][5], canvas_box(shown)
    shown.page.mouse.click(box["x"] + thumbnail["x"] + 40, box["y"] + thumbnail["y"] + 40)
    shown.until("state.opened && scene.spaces?.[0]?.head === 'L1·H5'")
    assert shown.errors == []


def test_a_layer_is_chosen_for_a_sheet_and_left_again(show):
    shown = show(made_up.view(layers=3, heads=4))
    assert shown.scene["sheet"] == []
    shown.page.locator("select[name=sheet]").select_option("2")
    shown.until("scene.sheet?.length === 4 && scene.thumbnails.every((t) => t.layer === 2)")
    assert shown.page.evaluate("document.getElementById('view').eyeline.state().links") == "best"
    shown.page.locator("select[name=sheet]").select_option("")
    shown.until("scene.thumbnails?.length === 12 && scene.sheet.length === 0")
