"""encode: the same promises for every tokeniser."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import TextError
from eyeline.text.encode import encode
from tests.text.sample_tokenisers import ALL, TRAINED, llama_like, minilm, roberta_like, smollm2, unigram, wordpiece

TEXTS = [
    "The cat sat on the mat. It didn't purr!",
    "猫が好きです。東京都に行った。",
    "我喜欢猫，也喜欢狗。",
    "고양이가 좋다. 鑫!",
    "NUL \x00 and </script> and \u200f עברית \u200f\n\n  indented\tcode  ",
    "👩‍💻🇯🇵 naïve e\u0301 ﬁne ① Å",
    "สวัสดีครับ ｶﾞｷﾞ １９９０年",
]
NORMALISED_AWAY = {"unigram", "wordpiece", "minilm"}  # NFKC; control and zero-width characters dropped
characters = st.characters(exclude_categories=["Cs"]) | st.sampled_from(list(" \n猫がきカ한글abc.,'▁Ġ#<é😀\u200d\u3000"))
ordinary = st.text(characters, min_size=1, max_size=40)


def check_promises(result: el.traces.TokenizedText, whole_text: bool) -> None:
    for token, word, special, span in zip(result.tokens, result.words, result.special, result.spans, strict=True):
        assert token
        assert "\ufffd" not in token
        assert (word is None) == special
        assert 0 <= span[0] <= span[1]
    in_words = [word for word in result.words if word is not None]
    assert in_words == sorted(in_words)
    assert set(in_words) == set(range(len(result.word_texts)))
    assert all(result.word_texts)
    assert el.traces.TokenizedText.from_json(json.loads(json.dumps(result.to_json()))) == result
    if whole_text:
        inked = [text for text in result.word_texts if not set(text) <= set("▁⏎⇥␍␣")]
        assert "".join("".join(inked).split()) == "".join("".join(result.sources).split())


@pytest.mark.parametrize("text", TEXTS)
@pytest.mark.parametrize("name", list(ALL))
def test_every_token_is_in_one_word_and_the_words_spell_the_text(name: str, text: str) -> None:
    check_promises(encode(ALL[name](), text), name not in NORMALISED_AWAY)
    check_promises(encode(ALL[name](), text, TEXTS[0]), name not in NORMALISED_AWAY)


@pytest.mark.parametrize("name", list(TRAINED))
@given(text=ordinary)
@settings(max_examples=150, deadline=None)
def test_any_text_keeps_the_promises_or_is_refused(name: str, text: str) -> None:
    visible_only = not set(text) & set("▁⏎⇥␍␣")
    try:
        result = encode(TRAINED[name](), text)
    except TextError:
        return
    check_promises(result, visible_only and name not in NORMALISED_AWAY)


@pytest.mark.parametrize("name", ["byte-level", "llama", "minilm", "smollm2"])
def test_words_are_the_same_for_every_tokeniser(name: str) -> None:
    result = encode(ALL[name](), "The cat's mat, 3.14.", "猫が好きです。")
    assert result.word_texts[:5] == ("The", "cat's", "mat", ",", "3.14")
    if name != "byte-level":  # trained on this very sentence: its tokens span words, which are then merged
        assert result.word_texts[6:] == ("猫", "が", "好き", "です", "。")


def test_segments_that_one_token_spans_become_one_word() -> None:
    result = encode(TRAINED["byte-level"](), "猫が好き")
    assert result.word_texts == ("猫が好き",)
    assert set(result.words) == {0}


def test_parts_of_a_character_are_shown_as_bytes_in_the_word_of_the_character() -> None:
    result = encode(smollm2(), "猫 cat")
    assert result.tokens == ("<0xE7>", "<0x8C>", "<0xAB>", "▁cat")
    assert result.words == (0, 0, 0, 1)


def test_jamo_of_an_uncased_tokeniser_stay_in_their_word() -> None:
    result = encode(minilm(), "한국어 좋다")
    assert result.word_texts == ("한국어", "좋다")


def test_special_tokens_belong_to_the_text_they_close() -> None:
    assert encode(minilm(), "a", "b").segments == (0, 0, 0, 1, 1)
    assert encode(unigram(), "猫", "猫").segments[-1] == 1
    roberta = encode(roberta_like(), "cat", "cat")  # <s> a </s> </s> b </s>
    assert [s for s, special in zip(roberta.segments, roberta.special, strict=True) if special] == [0, 0, 1, 1]
    llama = encode(llama_like(), "cat", "cat")  # <s> a <s> b
    assert [s for s, special in zip(llama.segments, llama.special, strict=True) if special] == [0, 1]


def test_a_special_token_typed_by_the_user_is_text() -> None:
    result = encode(minilm(), "a [SEP] b")
    assert result.special == (True, False, False, False, True)


def test_line_breaks_are_visible_words_of_their_own() -> None:
    result = encode(TRAINED["byte-level"](), "a\nb c")
    assert result.tokens[:3] == ("a", "⏎", "b")
    assert result.word_texts == ("a", "⏎", "b", "c")


def test_ids_are_those_of_the_tokeniser(tokenizer: Any) -> None:
    assert list(encode(tokenizer, "The cat sat.", "It purred.").ids) == tokenizer("The cat sat.", "It purred.")["input_ids"]


def test_a_truncation_saved_with_the_tokeniser_is_not_obeyed() -> None:
    assert len(encode(wordpiece(), "cat " * 30)) == 32
    assert len(encode(wordpiece(), "cat")) == 3


def test_too_long_a_text_names_both_lengths() -> None:
    with pytest.raises(TextError, match=r"32 tokens, but the model takes 16\.\n.*\n.*truncate=True"):
        encode(wordpiece(), "cat " * 30, max_length=16)


@pytest.mark.parametrize("limit", [5, 6, 9, 12])
def test_truncation_keeps_special_tokens_and_is_what_the_tokeniser_would_do(limit: int) -> None:
    first, second = "the cat sat on the mat", "it is a dog"
    result = encode(minilm(), first, second, max_length=limit, truncate=True)
    assert len(result) == limit
    assert [t for t, s in zip(result.tokens, result.special, strict=True) if s] == ["[CLS]", "[SEP]", "[SEP]"]
    alone = encode(minilm(), first, max_length=limit, truncate=True)
    assert list(alone.ids) == minilm()(first, truncation=True, max_length=limit)["input_ids"]
    counts = [sum(not s and g == side for s, g in zip(result.special, result.segments, strict=True)) for side in (0, 1)]
    assert max(counts) - min(counts) <= 1 or min(counts) == 4


def test_a_word_that_is_cut_shows_what_is_left_of_it() -> None:
    result = encode(smollm2(), "unbelievabilities", max_length=2, truncate=True)
    assert result.word_texts == ("".join(result.tokens),)


def test_no_room_beside_the_special_tokens_is_an_error() -> None:
    with pytest.raises(TextError, match="at least 5"):
        encode(minilm(), "a", "b", max_length=4, truncate=True)


def test_threads_share_a_tokeniser() -> None:
    texts = [f"cat {'dog ' * number}" for number in range(64)]
    alone = [encode(minilm(), text, max_length=40, truncate=True) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(lambda text: encode(minilm(), text, max_length=40, truncate=True), texts))
    assert together == alone
