"""Parts of a tokenised text, and lists of distinct texts."""

from __future__ import annotations

import eyeline as el
from eyeline.text.tokenized import index_of

TEXT = el.traces.TokenizedText.from_tokens(["[CLS]", "the", "cat", "[SEP]"], special=[True, False, False, True])


def test_only_some_tokens_of_a_text_keep_what_they_are() -> None:
    part = TEXT.only([0, 2, 3])
    assert part.tokens == ("[CLS]", "cat", "[SEP]")
    assert part.special == (True, False, True)
    assert [part.word_texts[word] for word in part.words if word is not None] == ["[CLS]", "cat", "[SEP]"]
    assert part.ids == ()


def test_a_text_is_listed_once() -> None:
    texts = [TEXT]
    other = TEXT.only([1, 2])
    assert [index_of(TEXT, texts), index_of(other, texts), index_of(other, texts)] == [0, 1, 1]
    assert texts == [TEXT, other]
