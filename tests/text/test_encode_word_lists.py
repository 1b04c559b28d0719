"""Many lists of words at once give what each gives alone: tokens, spans, words, and errors where one alone has one."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, pre_tokenizers

from eyeline.errors import TextError
from eyeline.text import encode as module
from eyeline.text import words as words_module
from eyeline.text.encode import encode, encode_word_lists
from eyeline.text.words import covered, group_given
from tests.text.corpora.treebanks import treebank
from tests.text.sample_tokenisers import TRAINED, minilm
from tests.text.test_word_lists import LISTS

ODD: list[Any] = [
    *LISTS,
    [],
    ["a", "", "b"],
    ["a", " ", "b"],
    ["a", "\u200b", "b"],
    ["a", "\ud800", "b"],
    ["a", 3, "b"],
    "a string",
    (" before", "after ", "in side", "\ttab\n"),
    ["a\u0301", "🙂🙂", "👩‍👩‍👧", "¿qué?", "ﬁ"],
    ["[SEP]", "in", "a", "text", "</s>"],
    ["x" * 1200],
    ["a" * 1200, "b"],
    ["\x00", "control"],
    ["don", "'t", "can", "not", "."],
    ["New", "York", "NewYork"],
]
words_of_any_kind = st.lists(st.text("abcé猫がです한.,' \u200b😀", max_size=5), max_size=6)


def alone(tokenizer: Any, words: Any, spaces: Any = None) -> object:
    try:
        return encode(tokenizer, words=words, spaces=spaces)
    except TextError as error:
        return str(error)


def together(tokenizer: Any, lists: Any, spaces: Any = None) -> list[object]:
    return [str(result) if isinstance(result, TextError) else result for result in encode_word_lists(tokenizer, lists, spaces)]


def test_every_tokeniser_reads_many_lists_as_it_reads_each(tokenizer: Any) -> None:
    assert together(tokenizer, ODD) == [alone(tokenizer, words) for words in ODD]


@pytest.mark.parametrize("spaced", [False, True])
def test_marks_of_spaces_are_kept(tokenizer: Any, spaced: bool) -> None:
    spaces = [[spaced != (index % 3 == 0) for index in range(len(words))] for words in ODD]
    spaces[0] = [True]  # too few
    assert together(tokenizer, ODD, spaces) == [alone(tokenizer, *pair) for pair in zip(ODD, spaces, strict=True)]


@pytest.mark.parametrize("name", list(TRAINED))
@given(lists=st.lists(words_of_any_kind, min_size=1, max_size=4), data=st.data())
@settings(max_examples=60, deadline=None)
def test_any_lists_of_words_are_read_alike(name: str, lists: list[list[str]], data: st.DataObject) -> None:
    tokenizer = TRAINED[name]()
    spaces = [data.draw(st.none() | st.lists(st.booleans(), min_size=len(words), max_size=len(words))) for words in lists]
    assert together(tokenizer, lists, spaces) == [alone(tokenizer, *pair) for pair in zip(lists, spaces, strict=True)]


@pytest.mark.parametrize("file", ["en_ewt-dev.conllu.gz", "ja_gsd-dev.conllu.gz", "ko_gsd-dev.conllu.gz"])
def test_treebank_sentences_are_read_alike(tokenizer: Any, file: str) -> None:
    lists = [sentence for _, sentence in treebank(file)[:60]]
    spaces = [[index % 4 != 0 for index in range(len(words))] for words in lists]
    assert together(tokenizer, lists, spaces) == [alone(tokenizer, *pair) for pair in zip(lists, spaces, strict=True)]


def test_a_list_with_a_token_across_a_space_is_refused_as_it_is_alone() -> None:
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.WordLevel({"new york": 0, "new": 1, "<unk>": 2}, unk_token="<unk>"))
    backend.pre_tokenizer = pre_tokenizers.Split("|", "removed")
    tokenizer = PreTrainedTokenizerFast(tokenizer_object=backend)
    lists, spaces = [["new", "york"], ["new"], ["new", "york", "|"]], [[True, True], None, [True, False, False]]
    assert together(tokenizer, lists, spaces) == [alone(tokenizer, *pair) for pair in zip(lists, spaces, strict=True)]
    assert "One token covers words 0 and 1" in str(together(tokenizer, lists)[0])


def test_lists_are_read_together_and_not_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    tokenizer = minilm()
    module._BATCHES.pop(tokenizer, None)
    read_alone: list[Any] = []
    original = module.encode
    monkeypatch.setattr(module, "encode", lambda *args, **options: read_alone.append(options["words"]) or original(*args, **options))
    lists = [["", "x"], ["The", "cat"], ["It", "did", "n't"], ["猫", "が"]]
    encode_word_lists(tokenizer, lists, [None, [True, True], [True, False, True], None])
    assert read_alone == [["The", "cat"], ["", "x"]]  # one that is read both ways, and one with an error to report


def test_many_parts_of_lists_are_put_back_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "LISTS", 2)
    lists = [["a"], ["b", ""], ["c"], ["d"], ["e"]]
    assert together(minilm(), lists) == [alone(minilm(), words) for words in lists]


def test_a_tokeniser_that_does_more_than_its_engine_is_asked_list_by_list() -> None:
    class Replacing:
        """Reads every text in another way than its engine does."""

        def __getattr__(self, name: str) -> Any:
            return getattr(minilm(), name)

        def __call__(self, text: str, *arguments: Any, **options: Any) -> Any:
            return minilm()(text.replace("cat", "dog"), *arguments, **options)

    read = encode_word_lists(Replacing(), [["The", "cat"], ["A", "cat"]])  # type: ignore[arg-type]
    assert [text.tokens[2] for text in read if not isinstance(text, TextError)] == ["dog", "dog"]


@given(words=st.lists(st.text("ab \t", min_size=1, max_size=3), min_size=1, max_size=5), data=st.data())
@settings(max_examples=200, deadline=None)
def test_the_short_way_to_the_word_of_each_token_agrees_with_the_long_one(words: list[str], data: st.DataObject) -> None:
    text, segments, position = " ".join(words), [], 0
    for word in words:
        segments.append((position, position + len(word)))
        position += len(word) + 1
    cuts = sorted(data.draw(st.sets(st.integers(0, len(text)), min_size=2)))
    spans = list(pairwise(cuts))
    short = words_module._each_within_a_word(text, segments, spans)
    if short is not None:
        assert covered(text, segments, spans) == [(word, word) for word in short]
    of, crossed = group_given(text, segments, spans)
    assert len(of) == len(spans)
    assert short is None or (of, crossed) == (short, [])
