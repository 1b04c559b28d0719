"""Every run says when the model's tokeniser hardly knows the texts."""

from __future__ import annotations

import dataclasses

import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.mentions import MarkedDocument, Mention
from tests.models.families import TINY, tiny_tokenizer

WORDS = ("the", "cat", "sat")


@pytest.fixture(scope="module")
def model() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(t.BertModel(t.BertConfig(**TINY)).eval(), tiny_tokenizer(), name="small letters")


def sentences(words: tuple[str, ...]) -> list[el.treebanks.Sentence]:
    first = el.treebanks.Sentence("a", words, (1, 2, -1), ("det", "nsubj", "root"))
    return [dataclasses.replace(first, id=name) for name in "abcd"]


def syntax(model: el.Model, words: tuple[str, ...]) -> el.Run:
    return el.syntax(model, sentences(words), min_count=1)


def probe(model: el.Model, words: tuple[str, ...]) -> el.Run:
    train = sentences(("a", "dog", "ran"))
    return el.probe(model, sentences(words), train=train, seeds=1, epochs=1)


def coreference(model: el.Model, words: tuple[str, ...]) -> el.Run:
    mentions = (Mention(0, 1, 1, 0, "nominal"), Mention(2, 2, 2, 0, "pronoun"))
    return el.coreference(model, [MarkedDocument("a", (words,), mentions)])


def space(model: el.Model, words: tuple[str, ...]) -> el.Space:
    return el.space(model, [" ".join(words * 4)], project="pca", gauge="none")


def compare(model: el.Model, words: tuple[str, ...]) -> el.Comparison:
    return el.compare(model, model, [" ".join(words * 4)], spaces=False)


@pytest.mark.parametrize("analysis", [syntax, probe, coreference, space, compare])
def test_a_run_over_unknown_words_says_so_and_one_over_known_words_does_not(model, analysis):
    unknown = analysis(model, tuple(word.upper() for word in WORDS)).facts.notices
    assert any("are unknown to this model's tokeniser" in notice for notice in unknown), unknown
    assert not any("unknown" in notice for notice in analysis(model, WORDS).facts.notices)


def test_a_view_of_a_space_of_unknown_words_says_so(model):
    unknown, known = (el.space_view(space(model, words)).spec["notices"] for words in (("THE", "CAT", "SAT"), WORDS))
    assert sum("are unknown" in notice for notice in unknown) == 1
    assert not any("unknown" in notice for notice in known)
