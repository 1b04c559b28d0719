"""Pictures saved from the page: what their colours mean, and what stands on paper when the page is printed."""

from __future__ import annotations

import html
import re
from collections.abc import Callable

import pytest

from eyeline.look.palette import head_colour
from tests.browser import made_up, made_up_space
from tests.browser.conftest import Shown, saved
from tests.tiers import slow_but


def test_a_picture_of_several_heads_says_which_colour_is_which(show: Callable[..., Shown]) -> None:
    shown = show(made_up.view("head", 8, layers=1, heads=3))
    drawn = saved(shown, "svg").read_text(encoding="utf-8")
    for head in range(3):
        assert f">L0·H{head}<" in drawn
        assert f'fill="{head_colour(head)}"' in drawn
    shown.page.locator("[data-head='1']").dblclick()
    shown.until("state.heads.join() === '1'")
    assert ">L0·H1<" not in saved(shown, "svg").read_text(encoding="utf-8")  # the caption names the only head


VIEWS = {
    "head": lambda: made_up.view("head", 8, layers=1, heads=2),
    "long": lambda: made_up.view("head", 120, layers=1, heads=2),
    "strange": lambda: made_up.view("head", 20, layers=1, heads=1, strange=True),
    "model": lambda: made_up.view("model", 8, layers=2, heads=2),
    "neuron": lambda: made_up.neurons(8),
    "space": lambda: made_up_space.view(state={"opened": True}),
}
ON_PAPER = """{
    const view = document.querySelector('#view > div').shadowRoot.querySelector('.view');
    return [...view.children].filter((part) => part.getBoundingClientRect().height > 0).map((part) => part.className);
}"""


@pytest.mark.parametrize("kind", slow_but(["head", "strange"], VIEWS))
@pytest.mark.parametrize("landscape", slow_but([False], [False, True]))
def test_a_printed_page_is_the_picture_alone_drawn_on_one_page(show: Callable[..., Shown], kind: str, landscape: bool) -> None:
    shown = show(VIEWS[kind]())
    on_screen = shown.page.evaluate(f"() => {ON_PAPER}")
    pdf = shown.page.pdf(format="A4", landscape=landscape)
    assert len(re.findall(rb"/Type /Page\b", pdf)) == 1
    assert (b"/Subtype /Image" in pdf) == (kind in ("neuron", "strange"))  # vectors and an emoji; all else is curves and letters
    assert b"/FontFile2" in pdf
    assert shown.page.evaluate(f"() => {ON_PAPER}") == on_screen


def test_on_paper_stands_what_a_saved_picture_shows(show: Callable[..., Shown]) -> None:
    shown = show(VIEWS["strange"]())
    picture = saved(shown, "svg").read_text(encoding="utf-8")
    on_screen = shown.page.evaluate(f"() => {ON_PAPER}")
    shown.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert shown.page.evaluate(f"() => {ON_PAPER}") == on_screen
    printed = shown.page.evaluate(
        "new XMLSerializer().serializeToString(document.querySelector('#view > div').shadowRoot.querySelector('.printed > svg'))"
    )
    for part in (r">([^<>]+)</text>", r' d="([^"]+)"'):
        on_paper, in_file = ([html.unescape(each) for each in re.findall(part, drawn)] for drawn in (printed, picture))
        assert on_paper == in_file != []
    shown.page.emulate_media(media="print")
    assert shown.page.evaluate(f"() => {ON_PAPER}") == ["printed"]
    shown.page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert "top" in shown.page.evaluate(f"() => {ON_PAPER}")  # a page without a picture is printed as it is
    shown.page.emulate_media(media="screen")


def test_faint_lines_are_raised_on_the_dark_page(show: Callable[..., Shown]) -> None:
    shown = show(made_up.view("head", 60, layers=1, heads=1))  # of more than 200 lines weak ones are faint

    def faintest() -> float:
        drawn = saved(shown, "svg").read_text(encoding="utf-8")
        return min(float(opacity) for opacity in re.findall(r'stroke-opacity="([^"]*)"', drawn))

    light = faintest()
    shown.page.locator("select[name=theme]").select_option("dark")
    shown.until("state.theme === 'dark'")
    assert faintest() > 1.3 * light
