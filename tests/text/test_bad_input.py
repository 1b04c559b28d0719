"""Bad input is refused in our words; strange input passes through as data."""

from __future__ import annotations

from typing import Any

import pytest

from eyeline.errors import TextError
from eyeline.text.encode import encode
from tests.text.sample_tokenisers import minilm

REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"text": ""}, "The text is empty"),
    ({"text": " \n\t"}, "only white space"),
    ({"text": "\u3000\u00a0"}, r"only white space .*U\+3000 U\+00A0"),
    ({"text": "a", "pair": ""}, "The second text is empty"),
    ({"text": "ab\ud83d"}, r"U\+D83D, at character 2"),
    ({"text": None}, "No text"),
    ({"text": b"abc"}, r"of type bytes.*\n.*\n.*decode"),
    ({"text": 5}, "of type int"),
    ({"text": ["a", "b"]}, "of type list"),
    ({"text": "a", "words": ["a"]}, "given twice"),
    ({"words": []}, "word list of the text is empty"),
    ({"words": ["a", "", "b"]}, "Word 1 of 3 is empty"),
    ({"words": ["a", "b", "\u3000"]}, "Word 2 of 3 is only white space"),
    ({"words": ["a", None]}, "Word 1 of 2 is None"),
    ({"words": ["a", "\udc00"]}, r"Word 1 of 2 has half a surrogate pair, U\+DC00"),
    ({"words": "a cat"}, "not a list of strings"),
    ({"text": "a", "pair_words": [" "]}, "Word 0 of 1"),
]


@pytest.mark.parametrize(("arguments", "message"), REFUSED)
def test_bad_input_is_refused(tokenizer: Any, arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(TextError, match=message):
        encode(tokenizer, **arguments)


def test_a_text_without_tokens_is_refused() -> None:
    with pytest.raises(TextError, match=r"makes no tokens of '.u200b.u200b'"):
        encode(minilm(), "\u200b\u200b")


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("😀" * 100_000, id="run"),
        pytest.param("😀 " * 100_000, id="spaced", marks=pytest.mark.slow),
        pytest.param("a-" * 50_000, id="hyphens", marks=pytest.mark.slow),
        pytest.param("猫" * 100_000, id="kanji", marks=pytest.mark.slow),
    ],
)
def test_enormous_texts_are_refused(tokenizer: Any, text: str) -> None:
    with pytest.raises(TextError, match=r"but the model takes 512|became one unknown token"):
        encode(tokenizer, text, max_length=512)


def test_strange_characters_pass_through_as_data(tokenizer: Any) -> None:
    text = "a </script> \x01 \u202e b \x00 c"
    assert encode(tokenizer, text).sources == (text,)
