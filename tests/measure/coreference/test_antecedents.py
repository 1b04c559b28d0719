"""The questions that are asked, the rules that answer them, and the windows that they are asked in."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import eyeline as el
from eyeline.errors import TextError
from eyeline.measure.coreference import windows as windows_module
from eyeline.measure.coreference.antecedents import RULES, Question, questions
from eyeline.measure.coreference.windows import Window, Windows
from eyeline.mentions import MarkedDocument, Mention
from eyeline.text.encode import encode
from eyeline.traces import TokenizedText
from tests.models.families import tiny_tokenizer
from tests.reference import coreference as slow
from tests.text.corpora.marked import documents

#             0       1      2     3      4       5     6      7      8      9
WORDS = ("the", "queen", "met", "John", "Smith", "and", "he", "told", "The", "Queen")


def mention(start: int, end: int, cluster: int, type_: str = "nominal", *features: str | None) -> Mention:
    return Mention(start, end, end, cluster, type_, *features)


QUEEN, JOHN = mention(0, 1, 0, "nominal", "sg", "Fem", "3"), mention(3, 4, 1, "proper", "sg", "Masc", "3")
HE, AGAIN = mention(6, 6, 1, "pronoun", "sg", "Masc", "3"), mention(8, 9, 0, "nominal", "sg", None, "3")


def ask(*mentions: Mention) -> list[Question]:
    return questions(mentions)


def test_only_mentions_with_an_antecedent_are_asked_about() -> None:
    assert [question.mention for question in ask(QUEEN, JOHN, HE, AGAIN)] == [HE, AGAIN]
    assert ask(QUEEN, JOHN) == []
    assert ask() == []


def test_candidates_are_the_main_words_before_the_mentions_own() -> None:
    he, again = ask(AGAIN, HE, JOHN, QUEEN)
    assert he.candidates == (1, 4)
    assert he.right == {4}
    assert again.candidates == (1, 4, 6)
    assert again.right == {1}


def test_a_nested_mention_is_a_candidate_only_if_its_main_word_comes_first() -> None:
    his, mother = Mention(0, 0, 0, 5, "pronoun"), Mention(0, 1, 1, 6, "nominal")
    (question,) = ask(his, mother, Mention(3, 3, 3, 6, "pronoun"))
    assert question.candidates == (0, 1)
    man_who_lost_his = Mention(4, 9, 5, 7, "nominal")
    (inner,) = ask(man_who_lost_his, Mention(8, 8, 8, 7, "pronoun"))
    assert inner.candidates == (5,)


def test_mentions_with_the_same_main_word_are_one_candidate_and_never_their_own() -> None:
    both, john, he = Mention(3, 6, 3, 1, "proper"), Mention(3, 3, 3, 2, "proper"), Mention(8, 8, 8, 2, "pronoun")
    (question,) = ask(both, john, he)
    assert question.candidates == (3,)
    assert question.right == {3}
    assert ask(Mention(3, 6, 3, 1, "proper"), Mention(3, 3, 3, 1, "proper")) == []


@pytest.mark.parametrize(("method", "he", "again"), [("nearest", 4, 6), ("head match", None, 1), ("rule-based", 4, 1)])
def test_rules_answer_as_they_are_described(method: str, he: int | None, again: int) -> None:
    assert [RULES[method](question, WORDS) for question in ask(QUEEN, JOHN, HE, AGAIN)] == [he, again]


def test_an_earlier_rule_wins_over_a_nearer_mention() -> None:
    words = ("the", "dog", "saw", "a", "dog", "that", "the", "cat", "liked", "the", "dog")
    mentions = [mention(0, 1, 0), mention(3, 4, 1), mention(6, 7, 2), mention(9, 10, 0)]
    (question,) = ask(*mentions)
    assert RULES["nearest"](question, words) == 7
    assert RULES["head match"](question, words) == 4
    assert RULES["rule-based"](question, words) == 1  # the same words, though farther


def test_where_nothing_agrees_the_rules_take_the_nearest() -> None:
    we, they = mention(0, 0, 0, "pronoun", "pl", None, "1"), mention(1, 1, 0, "pronoun", "sg", None, "3")
    (question,) = ask(we, they)
    assert RULES["rule-based"](question, ("we", "he")) == 0


@settings(max_examples=40, deadline=None)
@given(document=documents())
def test_rules_are_those_of_the_plain_loops(document: MarkedDocument) -> None:
    all_questions = questions(document.mentions)
    for method, rule in RULES.items():
        result = [rule(question, document.words) in question.right for question in all_questions]
        assert result == slow.rule_answers(document, list(document.mentions), method)


#: Words that the tiny tokeniser knows, each one token; [CLS] and [SEP] are added.
CAT = ("the", "cat", "sat", "on", "the", "mat", ".")
DOCUMENT = MarkedDocument("d", (CAT, CAT, ("it", "purred"), CAT), tuple(Mention(i, i, i, 0, "nominal") for i in (1, 8, 14, 17)))


def windows(longest: int, document: MarkedDocument = DOCUMENT, **options: bool) -> tuple[list[tuple[int, int]], Windows]:
    cutter = Windows(tiny_tokenizer(), longest, **options)
    actual = cutter.of(document, 3)
    assert all(len(window.text) <= longest for window in actual)
    assert all(window.document == 3 for window in actual)
    return [(window.words[0], window.words[-1]) for window in actual], cutter


def test_windows_take_as_many_whole_sentences_as_fit() -> None:
    assert windows(128)[0] == [(0, 22)]
    assert windows(18)[0] == [(0, 15), (16, 22)]
    assert windows(16)[0] == [(0, 13), (14, 22)]
    assert windows(9)[0] == [(0, 6), (7, 13), (14, 15), (16, 22)]


def test_the_papers_truncation_keeps_the_first_window_and_counts_the_rest() -> None:
    cut, cutter = windows(16, first=True)
    assert cut == [(0, 13)]
    assert cutter.counts["mentions_marked"] == 4
    assert cutter.counts["mentions_outside"] == 2


def test_a_sentence_longer_than_a_window_is_cut_between_words_and_counted() -> None:
    cut, cutter = windows(6)
    assert cut == [(0, 3), (4, 6), (7, 10), (11, 13), (14, 15), (16, 19), (20, 22)]
    assert cutter.counts["long_sentences"] == 3
    through = MarkedDocument("d", (CAT,), (Mention(3, 5, 5, 0, "nominal"), Mention(1, 1, 1, 0, "nominal")))
    _, cutter = windows(6, through)
    assert cutter.counts["mentions_outside"] == 1


def test_a_sentence_with_a_word_that_the_tokeniser_drops_is_left_out_and_counted_or_with_strict_an_error(
    minilm: el.Model,
) -> None:
    odd = MarkedDocument("odd", (CAT, ("the", "\u200b", "cat"), CAT), (Mention(1, 1, 1, 0, "nominal"), Mention(9, 9, 9, 0, "nominal")))
    cutter = Windows(minilm.tokenizer, 128)
    (window,) = cutter.of(odd)
    assert window.words == (*range(7), *range(10, 17))
    assert [m.main_word for m in window.mentions] == [1]
    assert cutter.counts["unreadable_sentences"] == 1
    with pytest.raises(TextError, match="odd: a sentence cannot be read"):
        Windows(minilm.tokenizer, 128, strict=True).of(odd)


def read_alone(tokenizer: Any, lists: Sequence[Sequence[str]], spaces: Sequence[Sequence[bool] | None]) -> list[TokenizedText | TextError]:
    """Each list of words by itself."""
    read: list[TokenizedText | TextError] = []
    for words, follow in zip(lists, spaces, strict=True):
        try:
            read.append(encode(tokenizer, words=words, spaces=follow))
        except TextError as error:
            read.append(error)
    return read


def cut_alone(given: Sequence[MarkedDocument], longest: int, first: bool) -> tuple[list[Window], Counter[str]]:
    """The windows and counts of documents that are read one after the other, sentence by sentence."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(windows_module, "encode_word_lists", read_alone)
        cutter = Windows(tiny_tokenizer(), longest, first)
        return [window for number, document in enumerate(given) for window in cutter.of(document, number)], cutter.counts


@settings(max_examples=15, deadline=None)
@given(given=st.lists(documents() | st.just(DOCUMENT), max_size=3), longest=st.integers(4, 24), first=st.booleans())
def test_documents_that_are_read_together_are_cut_as_each_alone(given: list[MarkedDocument], longest: int, first: bool) -> None:
    together = Windows(tiny_tokenizer(), longest, first)
    assert (together.of_all(given), together.counts) == cut_alone(given, longest, first)


def test_sentences_and_windows_of_many_documents_are_each_tokenised_together(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []

    def counted(tokenizer: Any, lists: Sequence[Sequence[str]], spaces: Any) -> list[TokenizedText | TextError]:
        calls.append(len(lists))
        return read_alone(tokenizer, lists, spaces)

    monkeypatch.setattr(windows_module, "encode_word_lists", counted)
    cut = Windows(tiny_tokenizer(), 16).of_all([DOCUMENT] * 3)
    assert calls == [12, 6]
    assert [window.document for window in cut] == [0, 0, 1, 1, 2, 2]


def test_a_window_of_one_sentence_is_not_tokenised_again(monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[int] = []
    monkeypatch.setattr(windows_module, "encode_word_lists", lambda *given: calls.append(len(given[1])) or read_alone(*given))
    assert len(Windows(tiny_tokenizer(), 9).of(DOCUMENT)) == 4
    assert calls == [4, 0]
