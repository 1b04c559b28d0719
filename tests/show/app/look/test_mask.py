"""A masked language model and a text without a mask on the Look page."""

from __future__ import annotations

import pytest

from eyeline.show.app.kit.page import escaped
from eyeline.words import Words
from tests.show.app.test_pages import errors, typed


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_without_a_mask_the_page_says_why_there_is_no_answer_and_masks_a_word_in_one_click(script, language) -> None:
    at, say = script("look", language).run(), Words(language)
    assert not [button for button in at.button if str(button.key).startswith("mask-")], "e5-small completes nothing"
    at.selectbox(key="look-model").select("e5-small-mlm")
    typed(at, "He drank tea.")
    assert say("look.no_mask", model=escaped("e5-small-mlm"), mask=escaped("[MASK]")) in [caption.value for caption in at.caption]
    words = [button.label for button in at.button if str(button.key).startswith("mask-")]
    assert words == ["He", "drank", "tea"]
    at.button(key="mask-2").click().run()
    assert errors(at) == []
    assert at.session_state["looking"].text == "He drank [MASK]."
    assert not [button for button in at.button if str(button.key).startswith("mask-")]
