"""segment: words of plain text, and how well they agree with treebanks."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyeline.text import words as module
from eyeline.text.words import segment
from tests.text.corpora.treebanks import treebank


def words(text: str) -> list[str]:
    return [text[start:end] for start, end in segment(text)]


@given(st.text(st.characters(exclude_categories=["Cs"])))
def test_words_cover_every_character_that_is_not_white_space_once(text: str) -> None:
    spans = segment(text)
    assert all(start < end for start, end in spans)
    assert all(left[1] <= right[0] for left, right in pairwise(spans))
    assert "".join("".join(words(text)).split()) == "".join(text.split())


PARTS = ["a", "b.c", "'s", "3", ",", ":", ".", "@", "www.", "http://", "x.org", "/?", "...", "_", "-", "%", "~~", " ", "\n", ")", '"']


@given(st.text(st.characters(max_codepoint=127)) | st.lists(st.sampled_from(PARTS)).map("".join))
def test_the_quick_pattern_for_ascii_finds_the_words_of_the_general_one(text: str) -> None:
    general = [
        (chunk.start() + match.start(), chunk.start() + match.end())
        for chunk in module._CHUNK.finditer(text)
        for match in module._WORD.finditer(chunk[0])
    ]
    assert segment(text) == general


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Don't e-mail 2nd-hand", ["Don't", "e", "-", "mail", "2nd", "-", "hand"]),
        ("see https://x.y/z?a=1, or me@x.org.", ["see", "https://x.y/z?a=1", ",", "or", "me@x.org", "."]),
        ("wait... what?!", ["wait", "...", "what", "?", "!"]),
        ("私は東京都に行った。", ["私", "は", "東京", "都", "に", "行っ", "た", "。"]),
        ("か\u3099ｶﾞ", ["か\u3099", "ｶﾞ"]),
        ("我喜欢", ["我", "喜", "欢"]),
        ("韓國의 고양이", ["韓國", "의", "고양이"]),
        ("👩\u200d💻🇯🇵👍🏽", ["👩\u200d💻", "🇯🇵", "👍🏽"]),
        ("می\u200cخواهم", ["می\u200cخواهم"]),
        ("ดี", ["ดี"]),
    ],
)
def test_words_of_many_scripts(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("file", "least"), [("en_ewt-test.conllu.gz", 0.979), ("ko_gsd-test.conllu.gz", 0.996), ("ja_gsd-test.conllu.gz", 0.888)]
)
def test_words_agree_with_treebanks_as_documented(file: str, least: float) -> None:
    right = total = 0
    for text, gold in treebank(file, surface=True):
        index, spans = 0, set()
        for word in gold:
            start = text.index(word, index)
            index = start + len(word)
            spans.add((start, index))
        result = set(segment(text))
        right += 2 * len(spans & result)
        total += len(spans) + len(result)
    assert right / total >= least
