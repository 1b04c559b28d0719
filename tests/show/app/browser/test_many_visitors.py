"""Several people at once: all are served, nobody sees another's text. Twenty of them are in benchmarks/pages/app.py."""

from __future__ import annotations

import pytest

from tests.show.app.browser.crowd import TEXT, WORDS, crowd
from tests.show.app.browser.socket_visitor import SocketVisitor

pytestmark = pytest.mark.slow


def test_four_visitors_at_once_are_served_each_with_their_own_text(served):
    visits = crowd(served.url, WORDS[:4])
    assert [visit.served for visit in visits] == [True] * 4
    assert [visit.foreign for visit in visits] == [()] * 4


def test_the_words_that_tell_visitors_apart_are_the_visitors_own(served, minilm):
    """Otherwise the test above could not fail, or would fail for nothing."""
    assert len(set(WORDS)) == len(WORDS) == 60
    assert all(word in minilm.trace(TEXT.format(word)).text.tokens for word in WORDS[:20])
    assert len(minilm.trace(TEXT.format("violin")).text) == 30
    with SocketVisitor(served.url) as me:
        me.open()
        assert not [word for word in WORDS if me.was_sent(word)]
        me.submit("", "look-show", **{"look-text": TEXT.format("violin")})
        assert me.was_sent("violin")


def test_the_figures_of_a_text_are_not_measured_for_a_visitor_who_has_not_come_to_them(served):
    """That takes longer than all the rest of the page. test_pages.py scrolls to them."""
    with SocketVisitor(served.url) as me:
        me.open()
        me.submit("", "look-show", **{"look-text": TEXT.format("quilt")})
        assert me.was_sent("quilt")
        assert "eyeline-seen-figures" in me.ids
        assert me.kinds("imgs") == []


@pytest.mark.slow
def test_the_same_visit_again_takes_no_more_memory_than_its_texts(served):
    """A session that has ended leaves nothing behind except what the caches may keep."""
    import psutil

    process = psutil.Process(served.process.pid)
    crowd(served.url, WORDS[4:8])
    before = process.memory_info().rss
    crowd(served.url, WORDS[4:8])
    assert process.memory_info().rss - before < 64e6
