"""An analysis belongs to its visitor over a reload of the page: Stop still stops it."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.words import Words
from tests.show.app.browser.test_pages import visit

__all__ = ["visit"]

pytestmark = pytest.mark.browser


@pytest.mark.slow
def test_after_a_reload_stop_still_stops_the_analysis(visit, served):
    say, before = Words("en"), sorted((served.workspace / "runs").iterdir())
    me = visit().open("/corpus", wait=".st-key-corpus-run button")
    me.page.get_by_text(say("corpus.source_paste"), exact=True).click()
    long_text = "\n\n".join([el.corpora.sample_text()] * 12)[:199_000]
    me.key("corpus-text").locator("textarea").fill(long_text)
    me.key("corpus-limit").locator("input").fill("1000")
    me.key("corpus-run").get_by_role("button").click()
    me.key("corpus-stop").get_by_role("button").wait_for()
    me.page.reload()
    me.key("corpus-stop").get_by_role("button").wait_for()
    me.page.get_by_text(say("jobs.rule", minutes="10")).wait_for()
    other = visit().open("/corpus", wait=".st-key-corpus-run button")
    assert other.key("corpus-stop").count() == 0, "it is nobody else's to stop"
    me.key("corpus-stop").get_by_role("button").click()
    me.page.get_by_text(say("corpus.stopped")).wait_for()
    assert me.key("corpus-run").get_by_role("button").is_enabled()
    assert sorted((served.workspace / "runs").iterdir()) == before, "nothing of it is left"
    assert me.errors == []
