"""Quantities beside attention on the Look page."""

from __future__ import annotations

import pytest

from eyeline.errors import ModelError
from eyeline.messages import Message
from eyeline.show.app.kit.page import escaped
from eyeline.words import Words
from tests.show.app.test_pages import errors, typed


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_a_quantity_is_chosen_by_its_name_in_the_visitors_language_and_drawn(script, language) -> None:
    at, say = script("look", language).run(), Words(language)
    choice = at.multiselect(key="look-beside")
    assert say("view.drawn_rollout") in choice.options
    choice.select("rollout").run()
    assert errors(at) == []
    assert at.session_state["look-opened"]["request"][-1] == ("rollout",)
    assert at.session_state["look-opened"]["state"]["drawn"] == 1


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_quantities_about_an_answer_are_not_offered_where_there_is_none_and_the_page_says_why(script, language) -> None:
    at, say = script("look", language).run(), Words(language)
    names = ["gradient", "relevance", "integrated-gradients", "logits"]
    labels = [say(f"view.drawn_{name.replace('-', '_')}") for name in names]
    assert not set(labels) & set(at.multiselect(key="look-beside").options)
    message = say("look.beside_left_out", names=say.listed(map(escaped, labels)), model=escaped(at.session_state["looking"].model))
    assert message in [caption.value for caption in at.caption]


@pytest.mark.slow
def test_a_quantity_that_the_model_refuses_is_named_and_the_page_lives_on(script) -> None:
    at = script("look").run()
    at.selectbox(key="look-model").select("e5-small-mlm")
    typed(at, "He drank [MASK].")
    at.multiselect(key="look-beside").select("logits").run()
    assert not at.exception
    assert any("norm" in message.value for message in [*at.error, *at.code])
    assert at.session_state["look-opened"]["request"][-1] == ()
    at.selectbox(key="look-model").select("e5-small")
    at.button(key="look-show").click().run()
    assert errors(at) == []
    assert at.multiselect(key="look-beside").value == []


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_gradients_that_are_not_finite_are_a_message_in_the_language_of_the_page(script, monkeypatch, language) -> None:
    reason = Message("refusal.gradients", model="minilm", answer="'tea'")

    def refuse_to_compute(*arguments: object) -> None:
        raise ModelError(reason, Message("refusal.gradients_precision"))

    monkeypatch.setattr("eyeline.show.app.look.quantity_of", refuse_to_compute)
    say, at = Words(language), script("look", language).run()
    at.multiselect(key="look-beside").select(at.multiselect(key="look-beside").options[0]).run()
    assert errors(at) == [say("look.failed")]
    assert say("refusal.gradients", model="minilm", answer="'tea'") in at.code[0].value
    assert say("refusal.gradients_precision") in at.code[0].value
