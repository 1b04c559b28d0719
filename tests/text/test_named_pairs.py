"""Pairs that a user names: by word or by piece, with an arrow or a colon, the same everywhere."""

from __future__ import annotations

from functools import cache

import pytest

import eyeline as el
from eyeline.measure.space.figures import red_rows
from eyeline.text.named_pairs import NamedPair, named_pairs, positions_of


@cache
def trace_model() -> el.Model:
    return el.load("minilm")


@pytest.fixture(scope="module")
def trace() -> el.Trace:
    return trace_model().trace("The brown capybara is sleeping now")


@pytest.mark.parametrize("written", ["brown → cap", "brown -> cap", "brown>cap", "brown:cap"])
def test_a_pair_is_written_with_an_arrow_or_a_colon(written):
    assert named_pairs(written) == (NamedPair("brown", "cap"),)


@pytest.mark.parametrize("written", ["brown", "brown:", "→ cap", "a → b → c"])
def test_what_is_no_pair_is_refused_with_an_example(written):
    with pytest.raises(el.EyelineError, match="it → cat"):
        named_pairs(written)


def test_a_name_is_a_piece_or_a_word_of_several_pieces_or_a_position(trace):
    text = trace.only.query_text
    pieces = [i for i, word in enumerate(text.words) if word is not None and text.word_texts[word] == "capybara"]
    assert len(pieces) > 1
    assert positions_of("capybara", text, "key") == pieces
    assert positions_of(text.tokens[pieces[-1]], text, "key") == pieces[-1:]
    assert positions_of("the", text, "query") == positions_of("The", text, "query") == [1]
    assert positions_of("3", text, "query") == positions_of(3, text, "query") == [3]


def test_a_name_that_matches_nothing_is_named(trace):
    with pytest.raises(el.EyelineError, match="No key 'capibara'"):
        positions_of("capibara", trace.only.key_text, "key")
    with pytest.raises(el.EyelineError, match="No query at position 40"):
        positions_of(40, trace.only.key_text, "query")


def test_the_graph_draws_every_piece_of_a_named_word_in_red(trace):
    text = trace.only.query_text
    graph = el.figures.attention_graph(trace, 0, 0, red=[("brown", "capybara"), ("brown", "cap")])
    brown = text.tokens.index("brown")
    assert graph.red == tuple((brown, key) for key in positions_of("capybara", text, "key"))


@pytest.mark.parametrize(
    "given",
    ["brown → cap", "brown:cap", ("brown", "cap"), ["brown → cap"], ["brown:cap", ("brown", "cap")], NamedPair("brown", "cap")],
)  # fmt: skip
def test_a_string_a_tuple_and_a_list_of_either_are_the_same_pair_everywhere(given, trace):
    assert named_pairs(given) == (NamedPair("brown", "cap"),)
    text = trace.only.query_text
    ends = (text.tokens.index("brown"), text.tokens.index("cap"))
    assert el.figures.attention_graph(trace, 0, 0, red=given).red == (ends,)
    space = el.space(trace_model(), ["The brown capybara is sleeping now"], layers=[0], heads=[0], project="pca", gauge="none")
    assert red_rows(space.only, given) == [ends]
    assert el.space_view(space, pairs=given).spec["state"]["pairs"] in ("brown → cap", given)


def test_several_pairs_may_stand_in_one_string_and_a_tuple_of_two_is_one_pair():
    both = (NamedPair("it", "cat"), NamedPair("she", "Mary"))
    for given in ("it → cat; she:Mary", "it:cat, she → Mary", ["it:cat", "she:Mary"], ("it → cat", "she → Mary")):
        assert named_pairs(given) == both
    assert named_pairs("; → cat") == (NamedPair(";", "cat"),)
    assert named_pairs("it → cat;") == both[:1]
    assert named_pairs("") == named_pairs([]) == ()


@pytest.mark.parametrize("given", [3, [3], ("it", ""), ("it", "cat", "mat"), [("it",)]])
def test_what_is_no_pair_in_python_is_refused(given):
    with pytest.raises(el.EyelineError, match="it → cat"):
        named_pairs(given)


def test_a_pair_that_no_text_holds_is_named_by_the_space_view_too():
    space = el.space(trace_model(), ["The brown capybara is sleeping now"], layers=[0], heads=[0], project="pca", gauge="none")
    with pytest.raises(el.EyelineError, match="No text holds the pair 'brown → zebra'"):
        el.space_view(space, pairs=["brown:cap", ("brown", "zebra")])
