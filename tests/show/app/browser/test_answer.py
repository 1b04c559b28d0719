"""The model's answer in the app's Look page, and a head that is switched off there."""

from __future__ import annotations

import re

import pytest

from eyeline.words import Words
from tests.show.app.browser.test_pages import VIEW, visit
from tests.tiers import slow_but

pytestmark = [pytest.mark.browser, pytest.mark.slow]  # test_pages.py drives the app in make test
__all__ = ["visit"]  # the fixture of the other pages


def test_a_head_is_switched_off_and_the_answer_changes(visit):
    visitor = visit().open("/?model=e5-small-mlm&text=He+drank+a+cup+of+%5BMASK%5D.&layer=7&heads=11")
    assert visitor.page.locator(".el-answer b").first.inner_text() == "tea"
    visitor.until("document.querySelector('.stApp').dataset.testScriptState === 'notRunning'")
    visitor.page.locator(f"{VIEW} [data-name=switch-head]").click()
    visitor.page.locator(".el-answer", has_text="→").first.wait_for()
    visitor.until("location.search.includes('s=')")
    assert "L7·H11" in visitor.key("look-words").inner_text()
    visitor.key("look-undo").get_by_role("button").click()
    visitor.page.locator(".el-answer", has_text="→").first.wait_for(state="detached")


def test_a_click_in_the_map_switches_a_head_off_and_another_one_too(visit):
    visitor = visit().open("/?model=e5-small-mlm&text=He+drank+a+cup+of+%5BMASK%5D.")
    grid = visitor.page.locator(".eyeline-grid canvas").first
    box = grid.bounding_box()
    assert box
    for row, column in ((6, 9), (3, 2)):
        visitor.page.mouse.click(box["x"] + (1.6 + column) * box["width"] / 13.2, box["y"] + (row + 0.5) * box["height"] / 12.9)
        visitor.page.locator(".el-answer", has_text="→").first.wait_for()
        visitor.until(f"document.querySelector('.st-key-look-words').textContent.includes('L{row}·H')")
    heads = "document.querySelector('.eyeline-view').eyeline.state().off.split(';').length"
    assert visitor.page.evaluate(heads) == 2
    visitor.key("look-undo").get_by_role("button").click()
    visitor.until(f"{heads} === 1")
    assert not visitor.errors


@pytest.mark.parametrize("language", slow_but([], ["en", "ja", "ko"]))
def test_the_last_step_of_the_lesson_both_heads_are_switched_off_and_one_of_them_matters(visit, language):
    visitor, say = visit().open(f"/learn?step=9&lang={language}"), Words(language)
    answer = visitor.page.locator(f"{VIEW} .answer-choice").first
    answer.wait_for()
    before = float(answer.get_attribute("data-before"))

    def switch_off(name: str) -> float:
        """The probability of the answer once the head that is shown is off too."""
        label = re.compile(re.escape(say(f"learn.limits.head_{name}", head="X")).replace("X", r"L\d+·H\d+"))
        visitor.page.get_by_role("radio", name=label).or_(visitor.page.get_by_role("button", name=label)).first.click()
        button = visitor.page.locator(f"{VIEW} [data-name=switch-off]")
        button.wait_for()
        head = re.search(r"L\d+·H\d+", button.inner_text())[0]
        button.click()
        visitor.page.locator(f"{VIEW} [data-name=off]", has_text=head).wait_for()
        visitor.page.locator(f"{VIEW} .answers:not([data-waiting]) .answer-choice:not([data-after=''])").first.wait_for()
        return float(answer.get_attribute("data-after"))

    sharp = switch_off("looks")
    assert abs(sharp - before) < 0.05
    both = switch_off("matters")
    assert visitor.page.locator(f"{VIEW} [data-name=off]").count() == 2, "the first stays off"
    assert before - both > 0.1
    assert not visitor.errors
