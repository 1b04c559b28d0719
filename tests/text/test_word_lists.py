"""Lists of words: word i of the result is words[i], for every tokeniser."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from eyeline.errors import TextError
from eyeline.text.encode import encode
from tests.text.corpora.treebanks import treebank
from tests.text.sample_tokenisers import ALL, TRAINED, minilm, smollm2

LISTS = [
    ["The", "cat", "did", "n't", "purr", "."],
    ["猫", "が", "好き", "です", "。"],
    ["50", "周年", "ソング", "の", "もの", "EDも"],
    ["我", "喜欢", "猫"],
    ["고양이", "가", "좋다", "."],
    ["20 000", "km", "/", "h", "New", "York"],
    ["x"],
]
words_of_any_kind = st.lists(st.text("abcé猫がです한.,'😀", min_size=1, max_size=5), min_size=1, max_size=8)


def check_words(tokenizer: Any, words: list[str]) -> None:
    result = encode(tokenizer, words=words)
    assert list(result.word_texts) == words
    actual = [word for word in result.words if word is not None]
    assert actual == sorted(actual)
    assert set(actual) == set(range(len(words)))
    for word, (start, end) in zip(result.words, result.spans, strict=True):
        if word is not None:
            assert result.sources[0][start:end].strip() in words[word]


@pytest.mark.parametrize("words", LISTS)
def test_every_given_word_is_a_word_of_the_result(tokenizer: Any, words: list[str]) -> None:
    check_words(tokenizer, words)
    pair = encode(tokenizer, "The cat.", pair_words=words)
    assert list(pair.word_texts) == ["The", "cat", ".", *words]


@pytest.mark.parametrize("name", list(TRAINED))
@given(words=words_of_any_kind)
@settings(max_examples=100, deadline=None)
def test_any_list_of_words_is_kept_apart(name: str, words: list[str]) -> None:
    check_words(TRAINED[name](), words)


def test_japanese_words_are_joined_without_spaces_where_no_token_crosses_a_border() -> None:
    assert encode(smollm2(), words=["猫", "が", "好き"]).sources == ("猫が好き",)
    assert encode(TRAINED["byte-level"](), words=["猫", "が", "好き"]).sources != ("猫が好き",)  # it has a token 猫が好


def test_a_word_that_the_tokeniser_drops_is_named() -> None:
    with pytest.raises(TextError, match=r"Word 1 of 3 has no token.*u200b"):
        encode(minilm(), words=["a", "\u200b", "b"])


def test_a_cut_list_keeps_its_first_words() -> None:
    result = encode(minilm(), words=["The", "cat", "purred", "loudly"], max_length=5, truncate=True)
    assert result.word_texts == ("The", "cat", "purred")
    assert result.words == (None, 0, 1, 2, None)


def test_tokens_across_spaces_are_refused() -> None:
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"new york": 0, "<unk>": 1}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split("|", "removed")
    with pytest.raises(TextError, match="One token covers words 0 and 1: 'new', 'york'"):
        encode(PreTrainedTokenizerFast(tokenizer_object=backend), words=["new", "york"])


@pytest.mark.parametrize("file", ["en_ewt-dev.conllu.gz", "ja_gsd-dev.conllu.gz", "ko_gsd-dev.conllu.gz"])
@pytest.mark.parametrize("name", list(ALL))
def test_treebank_sentences_keep_their_words(name: str, file: str) -> None:
    tokenizer = ALL[name]()
    for _, sentence in treebank(file)[:300]:
        assert list(encode(tokenizer, words=sentence).word_texts) == sentence
