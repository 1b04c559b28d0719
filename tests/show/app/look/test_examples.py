"""Example sentences in the visitor's language, where the model reads it."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

import eyeline as el
from eyeline.show.app import look
from eyeline.show.app.look import EXAMPLES, example_of, reads
from eyeline.words import LANGUAGES


def reader(*tokens: str, ids: tuple[int, ...] = ()) -> SimpleNamespace:
    """A model whose tokeniser reads every text as these tokens; 0 is the unknown one."""
    text = SimpleNamespace(ids=ids or tuple(range(1, len(tokens) + 1)), special=(False,) * len(tokens), tokens=tokens)
    return SimpleNamespace(read=lambda text_: SimpleNamespace(source=text), _tokenizer=SimpleNamespace(unk_token_id=0, eos_token_id=9))


def test_there_are_as_many_examples_in_every_language():
    assert set(EXAMPLES) == set(LANGUAGES)
    assert {len(sentences) for sentences in EXAMPLES.values()} == {3}
    assert {tuple(bool(pair) for _, pair in sentences) for sentences in EXAMPLES.values()} == {(False, True, False)}


def test_a_text_is_read_where_no_token_is_unknown_or_a_byte_and_letters_are_not_taken_apart():
    assert reads(reader("고양이", "가", "앉았다"), "고양이가 앉았다")
    assert not reads(reader("고양이", "[UNK]", ids=(1, 0)), "고양이가")
    assert not reads(reader("▁<0xEA>", "<0xB3 0xA0>"), "고양이가")
    assert not reads(reader(*"ㄱㅗㅇㅑㅇㅇㅣ"), "고양이")
    assert not reads(reader(*[str(n) for n in range(12)]), "고양이가 앉았다")


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_a_model_that_reads_the_language_gets_examples_in_it_and_others_get_english(monkeypatch, language):
    monkeypatch.setattr(look, "model_named", lambda name: {"mine": reader("a", "b"), "theirs": reader("?", ids=(0,))}[name])
    assert [example_of(index, language, "mine") for index in range(3)] == list(EXAMPLES[language])
    assert [example_of(index, language, "theirs") for index in range(3)] == list(EXAMPLES["en"])
    assert example_of(0, language, "e5-small") == EXAMPLES["en"][0]
    assert example_of(0, "en", "mine") == EXAMPLES["en"][0]


def test_the_embedded_tokeniser_does_not_read_japanese_or_korean(minilm):
    for language in ("ja", "ko"):
        assert not any(reads(minilm, text) for text, _ in EXAMPLES[language])
    assert all(reads(minilm, text) for text, _ in EXAMPLES["en"])
    assert isinstance(minilm.read("A cat.").source, el.traces.TokenizedText)
