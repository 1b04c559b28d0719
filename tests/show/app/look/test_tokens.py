"""Which languages a model reads, and unknown tokens and bytes, on the Look page."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.show.app.kit.page import escaped
from eyeline.text.encode import byte_tokens
from eyeline.words import Words
from tests.show.app.test_pages import errors, typed


@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_the_page_says_which_language_the_model_reads_and_how_many_tokens_it_does_not_know(script, language) -> None:
    at, say = script("look", language).run(), Words(language)
    name = escaped(at.session_state["looking"].model)
    unknown = say("look.unknown", model=name, n=1, total=3, token=escaped("[UNK]"))
    captions = [caption.value for caption in at.caption]
    assert say("look.reads_english", model=name) in captions
    assert unknown not in captions
    typed(at, "the 🐈 sat")
    assert errors(at) == []
    assert unknown in [caption.value for caption in at.caption]


@pytest.mark.slow
@pytest.mark.parametrize("language", ["en", "ja", "ko"])
def test_bytes_are_explained_by_one_that_stands_in_the_view(script, language) -> None:
    at, say = script("look", language, model="smollm2").run(), Words(language)
    typed(at, "날씨")
    assert errors(at) == []
    explained = say("look.bytes", model=escaped("smollm2"), n=6, total=6, example=escaped("<0xEB>"))
    assert explained in [caption.value for caption in at.caption]


def test_tokens_that_are_bytes_are_found() -> None:
    assert byte_tokens([el.traces.TokenizedText.from_tokens(["▁<0xE7>", "<0x8C 0xAB>", "▁cat", "<s>"])]) == ["▁<0xE7>", "<0x8C 0xAB>"]
