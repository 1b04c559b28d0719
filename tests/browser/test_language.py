"""A page speaks the language it was written in: titles, controls and the note, of every kind of view."""

from __future__ import annotations

from dataclasses import replace

import pytest

import eyeline as el
from eyeline.words import Words
from tests.browser import made_up, made_up_space


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_controls_of_a_space_are_in_the_language_of_its_page(show, language):
    labels = Words(language).part("view")
    page = show(el.space_view(made_up_space.space([6, 5]), layer=1, head=1, language=language)).page
    assert page.locator("html").get_attribute("lang") == language
    bar = page.locator(".controls").first.text_content()
    assert all(labels[name] in bar for name in ("back", "colour_by", "links_best", "tool_lasso", "pairs"))
    assert "Colour by" not in bar


@pytest.mark.slow
@pytest.mark.parametrize("kind", [el.head_view, el.model_view, el.neuron_view])
def test_every_kind_of_view_has_a_page_in_japanese(show, kind):
    trace = made_up.trace(6, layers=2, heads=2) if kind is not el.neuron_view else made_up.neuron_trace(6)
    shown = show(kind(trace, language="ja"))
    assert Words("ja")("view.note") in shown.page.locator(".view").text_content()
    assert shown.errors == []


def test_a_page_in_english_carries_no_second_table_of_words():
    view = el.head_view(made_up.trace(6, layers=2, heads=2))
    assert '"labels":' not in view.html()
    assert '"labels":' in replace(view, language="ko").html()


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_stacks_and_key_heads_are_named_in_the_language_of_the_page(show, language):
    words = Words(language)
    for kind in ("head", "model"):
        caption = show(replace(made_up.crossed(kind), language=language)).page.locator(".caption").inner_text()
        assert words("view.encoder") in caption
        assert "encoder" not in caption
    grouped = made_up.neurons(6, heads=8, key_heads=2, state={"heads": [7]})
    caption = show(replace(grouped, language=language)).page.locator(".caption").inner_text()
    assert words("view.key_head", n=1, of=2) in caption


def test_why_there_is_no_sum_of_values_is_said_in_the_language_of_the_page(show):
    translated = show(el.neuron_view(el.traces.sample_translation("love-ja"), language="ko")).page
    assert translated.locator(".missing").inner_text() == Words("ko")("view.values_not_kept")
    trace = made_up.neuron_trace(6).encoder
    arrays = {"queries": trace.queries, "keys": trace.keys}
    given = show(el.neuron_view(el.Trace.from_arrays(trace.weights, list(trace.query_text.tokens), **arrays), language="ja")).page
    assert given.locator(".missing").inner_text() == Words("ja")("view.values_not_given")
