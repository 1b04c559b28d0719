"""Quantities beside attention on the Look page."""

from __future__ import annotations

import pytest

from eyeline.hosts.app.messages import Say
from tests.hosts.app.test_pages import errors


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_a_quantity_is_chosen_by_its_name_in_the_visitors_language_and_drawn(script, language) -> None:
    at, say = script("look", language).run(), Say(language)
    choice = at.multiselect(key="look-beside")
    assert say("view.drawn_rollout") in choice.options
    choice.select("rollout").run()
    assert errors(at) == []
    assert at.session_state["look-opened"]["request"][-1] == ("rollout",)
    assert at.session_state["look-opened"]["state"]["drawn"] == 1


def test_a_quantity_that_the_model_refuses_is_named_and_the_page_lives_on(script) -> None:
    at = script("look").run()
    at.multiselect(key="look-beside").select("gradient").run()
    assert not at.exception
    assert any("head" in message.value or "answer" in message.value for message in [*at.error, *at.code])
    assert at.session_state["look-opened"]["request"][-1] == ()
