"""The model's answer in the app's Look page, and a head that is switched off there."""

from __future__ import annotations

import pytest

from tests.hosts.app.browser.test_pages import VIEW, visit

pytestmark = pytest.mark.browser
__all__ = ["visit"]  # the fixture of the other pages


def test_a_head_is_switched_off_and_the_answer_changes(visit):
    visitor = visit().open("/?model=e5-small-mlm&text=He+drank+a+cup+of+%5BMASK%5D.&layer=7&heads=11")
    choice = visitor.page.locator(f"{VIEW} .answer-choice").first
    assert choice.inner_text().split()[0] == "tea"
    visitor.page.locator(f"{VIEW} [data-name=switch-off]").click()
    visitor.page.locator(f"{VIEW} .answer-choice", has_text="→").first.wait_for()
    visitor.until("location.search.includes('s=')")
    visitor.page.locator(f"{VIEW} [data-name=undo]").click()
    visitor.page.locator(f"{VIEW} .answer-choice", has_text="→").first.wait_for(state="detached")
    assert not visitor.errors
