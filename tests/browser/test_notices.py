"""A view shows what its reader must know, in words, above the drawing."""

from __future__ import annotations

from dataclasses import replace

import eyeline as el
from eyeline.messages import Message
from eyeline.words import Words
from tests.browser import made_up

NOTICE = "The encoder's attention is computed in blocks <b>and</b> left out."


def test_a_notice_of_the_trace_stands_above_the_drawing_as_text(show):
    plain = made_up.trace(6, layers=2, heads=2)
    for view in (el.head_view, el.model_view):
        shown = show(view(replace(plain, about={**plain.about, "notices": [NOTICE]})))
        notice = shown.page.get_by_role("note")
        assert notice.inner_text() == NOTICE
        assert notice.bounding_box()["y"] < shown.page.locator(".stage").bounding_box()["y"]


def test_a_view_without_notices_has_no_line_for_them(show):
    assert show(el.head_view(made_up.trace(6, layers=2, heads=2))).page.get_by_role("note").count() == 0


def test_a_notice_is_in_the_language_of_the_view():
    plain = made_up.trace(6, layers=2, heads=2)
    notice = Message("notice.unknown_tokens", unknown="3", tokens="6")
    view = el.head_view(replace(plain, about={**plain.about, "notices": [notice]}), language="ja")
    assert view.spec["notices"] == [Words("ja")("notice.unknown_tokens", unknown="3", tokens="6")]
