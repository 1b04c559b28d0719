"""Many texts at once give what each gives alone: tokens, spans, words, and errors where one alone has one."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from eyeline.errors import TextError
from eyeline.text import encode as module
from eyeline.text.encode import encode, encode_many
from tests.text.sample_tokenisers import LINES

TEXTS = [
    *LINES[:6],
    "",
    "   ",
    "a\u0301 combining, 🙂🙂 emoji, ¿qué?",
    "two  spaces\nand a line\tand a tab ",
    "[SEP] written in a text </s>",
    "x" * 1200,
    "It purred.",
    "\x00control\x1fcharacters",
]


def alone(tokenizer: Any, text: str) -> object:
    try:
        return encode(tokenizer, text)
    except TextError as error:
        return str(error)


def test_every_tokeniser_reads_many_texts_as_it_reads_each(tokenizer: Any) -> None:
    together = [str(result) if isinstance(result, TextError) else result for result in encode_many(tokenizer, TEXTS)]
    assert together == [alone(tokenizer, text) for text in TEXTS]


def test_words_are_grouped_when_somebody_asks(minilm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []
    original = module.segment
    monkeypatch.setattr(module, "segment", lambda text: calls.append(text) or original(text))
    module._BATCHES.pop(minilm.tokenizer, None)  # as if it had read nothing yet
    text = encode_many(minilm.tokenizer, ["It purred loudly.", "The cat."])[1]
    assert not isinstance(text, TextError)
    assert calls == ["It purred loudly."] * 2  # the first text, which is read both ways
    assert text.word_texts == ("The", "cat", ".")
    assert text.words == (None, 0, 1, 2, None)
    assert calls == ["It purred loudly.", "It purred loudly.", "The cat."]  # once
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = text.nothing


def test_the_first_batches_of_a_tokeniser_and_seldom_later_ones_are_read_both_ways(minilm: Any) -> None:
    module._BATCHES.pop(minilm.tokenizer, None)
    compared = [module._is_compared(minilm.tokenizer) for _ in range(9)]
    assert [number for number, is_compared in enumerate(compared, 1) if is_compared] == [1, 2, 4, 8]


def test_a_text_without_its_words_yet_can_be_sent_to_another_process(minilm: Any) -> None:
    text = encode_many(minilm.tokenizer, ["It purred.", "The cat sat."])[1]
    assert pickle.loads(pickle.dumps(text)) == encode(minilm.tokenizer, "The cat sat.")


def test_a_tokeniser_that_does_more_than_its_engine_is_asked_text_by_text(minilm: Any) -> None:
    class Replacing:
        """Reads every text in another way than its engine does."""

        def __getattr__(self, name: str) -> Any:
            return getattr(minilm.tokenizer, name)

        def __call__(self, text: str, *arguments: Any, **options: Any) -> Any:
            return minilm.tokenizer(text.replace("cat", "dog"), *arguments, **options)

    read = encode_many(Replacing(), ["The cat sat.", "A cat."])  # type: ignore[arg-type]
    assert [text.tokens[2] for text in read] == ["dog", "dog"]


def test_some_tokens_of_a_text_leave_its_words_ungrouped_until_somebody_asks(minilm: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    text = encode_many(minilm.tokenizer, ["It purred.", "The cat sat on the mat."])[1]
    assert not isinstance(text, TextError)
    alone_text = encode(minilm.tokenizer, "The cat sat on the mat.")
    kept = [0, 2, 4, 7]
    monkeypatch.setattr(module, "segment", lambda text: pytest.fail(f"{text!r} was grouped"))
    fewer = text.only(kept)
    assert fewer.tokens == alone_text.only(kept).tokens
    monkeypatch.undo()
    assert pickle.loads(pickle.dumps(fewer)) == fewer == alone_text.only(kept)


def test_spans_are_read_from_the_engine_when_somebody_asks(minilm: Any) -> None:
    text = encode_many(minilm.tokenizer, ["It purred.", "The cat."])[1]
    assert not isinstance(text, TextError)
    assert "spans" not in vars(text)
    assert text.spans == encode(minilm.tokenizer, "The cat.").spans
    assert "spans" in vars(text)
