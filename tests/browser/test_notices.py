"""A view shows what its reader must know, in words, above the drawing."""

from __future__ import annotations

from dataclasses import replace

from eyeline.views import head_view, model_view
from eyeline.words import Words

from . import made_up

NOTICE = "The encoder's attention is computed in blocks <b>and</b> left out."


def test_a_notice_of_the_trace_stands_above_the_drawing_as_text(show):
    plain = made_up.trace(6, layers=2, heads=2)
    for view in (head_view, model_view):
        shown = show(view(replace(plain, about={**plain.about, "notices": [NOTICE]})))
        notice = shown.page.get_by_role("note")
        assert notice.inner_text() == NOTICE
        assert notice.bounding_box()["y"] < shown.page.locator(".stage").bounding_box()["y"]


def test_a_view_without_notices_has_no_line_for_them(show):
    assert show(head_view(made_up.trace(6, layers=2, heads=2))).page.get_by_role("note").count() == 0


def test_a_notice_is_in_the_language_of_the_view():
    plain = made_up.trace(6, layers=2, heads=2)
    words = {language: Words(language)("notice.unknown_tokens", unknown="3", tokens="6") for language in ("en", "ja")}
    view = head_view(replace(plain, about={**plain.about, "notices": [words["en"]]}), language="ja")
    assert view.spec["notices"] == [words["ja"]]
