"""The model view: all heads, chosen heads, and the way into one and back."""

from __future__ import annotations

import pytest

from tests.browser import made_up
from tests.tiers import slow_but


def test_every_layer_and_head_has_a_thumbnail(show):
    shown = show(made_up.view("model", 20, layers=5, heads=7))
    names = [thumbnail["name"] for thumbnail in shown.scene["thumbnails"]]
    assert names == [f"L{layer}·H{head}" for layer in range(5) for head in range(7)]


def test_rows_and_columns_can_be_chosen(show):
    shown = show(made_up.view("model", 12, layers=3, heads=4))
    shown.click("[data-name=show]")
    shown.page.locator("[data-name=rows] .box").nth(1).click()
    shown.page.locator("[data-name=columns] .box").nth(0).click()
    shown.until("scene.thumbnails.length === 6")
    assert {(t["layer"], t["head"]) for t in shown.scene["thumbnails"]} == {(layer, head) for layer in (0, 2) for head in (1, 2, 3)}
    shown.page.locator("[data-name=rows] .quiet").nth(1).click()
    shown.page.get_by_text("No layer or no head is chosen.").wait_for()


def test_colour_by_head_or_layer(show):
    shown = show(made_up.view("model", 8, layers=3, heads=4, state={"colour_by": "head"}))
    assert len({t["colour"] for t in shown.scene["thumbnails"]}) == 4
    shown.page.locator("select[name=colour_by]").select_option("layer")
    shown.until("new Set(scene.thumbnails.map((t) => t.colour)).size === 3")
    assert shown.scene["thumbnails"][0]["colour"] == "#440154"


def test_hovering_enlarges_and_a_click_opens_with_a_way_back(show):
    shown = show(made_up.view("model", 12, layers=3, heads=4))
    thumbnail = next(t for t in shown.scene["thumbnails"] if t["name"] == "L2·H1")
    box = shown.page.locator("canvas").first.bounding_box()
    x, y = box["x"] + thumbnail["x"] + 10, box["y"] + thumbnail["y"] + 10
    shown.page.mouse.move(x, y)
    shown.page.locator(".large", has_text="L2·H1").wait_for()
    shown.page.mouse.click(x, y)
    shown.until("state.opened && scene.kind === 'head' && scene.lines.length > 0")
    assert (shown.state["layer"], shown.state["heads"]) == (2, [1])
    shown.click("[data-name=back]")
    shown.until("!state.opened && scene.thumbnails?.length === 12")


def test_the_keyboard_walks_and_opens(show):
    shown = show(made_up.view("model", 12, layers=3, heads=4))
    for key in ("ArrowDown", "ArrowDown", "ArrowRight", "Enter"):
        shown.page.keyboard.press(key)
    shown.until("state.opened && state.layer === 1 && state.heads.join() === '1'")
    shown.page.keyboard.press("Escape")
    shown.until("!state.opened")


def test_unequal_stacks(show):
    shown = show(made_up.crossed("model"))
    assert len(shown.scene["thumbnails"]) == 6 * 8
    shown.page.locator("select[name=stack]").select_option("1")
    shown.until("scene.thumbnails.length === 24")


def test_512_tokens_are_drawn_as_heat_maps(show):
    shown = show(made_up.view("model", 512, layers=3, heads=12))
    assert len(shown.scene["thumbnails"]) == 36
    assert shown.scene["as"] == "heatmap"


@pytest.mark.parametrize("tokens", slow_but([128], [128, 512]))
def test_the_pointer_is_answered_within_its_event_also_the_first_time(show, tokens):
    """No timer and no frame in between: a few microtasks after the event, the large map is that of the head under the pointer."""
    shown = show(made_up.view("model", tokens, layers=2, heads=12))
    answered = shown.page.evaluate(
        """async () => {
          const root = document.getElementById('view').firstElementChild.shadowRoot;
          const canvas = root.querySelector('canvas'), box = canvas.getBoundingClientRect();
          const answered = [];
          for (const {name, x, y} of document.getElementById('view').eyeline.scene().thumbnails.slice(3, 12)) {
            const move = {clientX: box.left + x + 5, clientY: box.top + y + 5, pointerType: 'mouse'};
            canvas.dispatchEvent(new PointerEvent('pointermove', move));
            for (let i = 0; i < 20; i++) await null;
            answered.push(root.querySelector('.large strong')?.textContent === name);
          }
          return answered;
        }"""
    )
    assert answered == [True] * 9
    shown.page.locator(".large", has_text="max 0.").wait_for()  # the exact number follows when the pointer rests


def test_the_layers_numbers_stay_when_a_phone_scrolls_sideways(show):
    shown = show(made_up.view("model", 12, layers=3, heads=24), width=360, height=740, has_touch=True, is_mobile=True)
    numbers = shown.page.locator(".sides span:not(.word)")
    assert numbers.all_inner_texts() == ["0", "1", "2"]
    before = numbers.nth(1).bounding_box()
    shown.page.locator(".scroll").evaluate("box => { box.scrollLeft = 150; }")
    assert shown.page.locator(".scroll").evaluate("box => box.scrollLeft") == 150
    assert numbers.nth(1).bounding_box()["x"] == before["x"]
    assert shown.page.evaluate("document.documentElement.scrollWidth") <= 360


def test_the_keys_named_are_those_of_the_view_on_screen(show):
    shown = show(made_up.view("model", 10, layers=2, heads=2))
    keys = shown.page.locator(".note .keys")
    assert "Enter opens the head" in keys.inner_text()
    shown.page.keyboard.press("ArrowRight")
    shown.page.keyboard.press("Enter")
    shown.until("state.opened")
    shown.page.get_by_text("Enter locks").wait_for()
    shown.page.keyboard.press("Escape")
    shown.page.get_by_text("Enter opens the head").wait_for()


@pytest.mark.parametrize("kind", ["head", "model"])
def test_a_search_that_finds_nothing_says_so(show, kind):
    shown = show(made_up.view(kind, 10, layers=2, heads=2))
    message = shown.page.locator(".no-match")
    shown.page.locator("input[name=find]").fill("zebra")
    shown.page.get_by_text("0 matches").wait_for()
    shown.page.locator("input[name=find]").fill("quick")
    shown.until("state.find === 'quick'")
    shown.page.get_by_text("0 matches").wait_for(state="detached")
    assert message.inner_text() == "1 match"
    shown.page.locator("input[name=find]").fill("o")
    shown.soon(lambda: shown.page.get_by_text(f"{sum('o' in token for token in made_up.text(10).tokens)} matches", exact=True).wait_for())


def test_on_a_phone_a_sign_says_that_there_are_more_heads(show):
    shown = show(made_up.view("model", 12), width=360, height=740, has_touch=True, is_mobile=True)
    assert shown.page.locator(".more").is_visible()
    shown.page.locator(".scroll").evaluate("e => { e.scrollLeft = e.scrollWidth; }")
    shown.wait("document.getElementById('view').firstElementChild.shadowRoot.querySelector('.more').hidden")


def test_in_a_wide_window_no_sign_says_so(show):
    shown = show(made_up.view("model", 12))
    assert not shown.page.locator(".more").is_visible()
