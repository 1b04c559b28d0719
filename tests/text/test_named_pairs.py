"""Pairs that a user names: by word or by piece, with an arrow or a colon, the same everywhere."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.errors import EyelineError
from eyeline.plots.graph.attention_graph import attention_graph
from eyeline.text.named_pairs import named_pair, positions_of


@pytest.fixture(scope="module")
def trace() -> el.Trace:
    return el.load("minilm").trace("The brown capybara is sleeping now")


@pytest.mark.parametrize("written", ["brown → cap", "brown -> cap", "brown>cap", "brown:cap"])
def test_a_pair_is_written_with_an_arrow_or_a_colon(written):
    assert named_pair(written) == ("brown", "cap")


@pytest.mark.parametrize("written", ["brown", "brown:", "→ cap", "a → b → c"])
def test_what_is_no_pair_is_refused_with_an_example(written):
    with pytest.raises(EyelineError, match="it → cat"):
        named_pair(written)


def test_a_name_is_a_piece_or_a_word_of_several_pieces_or_a_position(trace):
    text = trace.only.query_text
    pieces = [i for i, word in enumerate(text.words) if word is not None and text.word_texts[word] == "capybara"]
    assert len(pieces) > 1
    assert positions_of("capybara", text, "key") == pieces
    assert positions_of(text.tokens[pieces[-1]], text, "key") == pieces[-1:]
    assert positions_of("the", text, "query") == positions_of("The", text, "query") == [1]
    assert positions_of("3", text, "query") == positions_of(3, text, "query") == [3]


def test_a_name_that_matches_nothing_is_named(trace):
    with pytest.raises(EyelineError, match="No key 'capibara'"):
        positions_of("capibara", trace.only.key_text, "key")
    with pytest.raises(EyelineError, match="No query at position 40"):
        positions_of(40, trace.only.key_text, "query")


def test_the_graph_draws_every_piece_of_a_named_word_in_red(trace):
    text = trace.only.query_text
    graph = attention_graph(trace, 0, 0, red=[("brown", "capybara"), ("brown", "cap")])
    brown = text.tokens.index("brown")
    assert graph.red == tuple((brown, key) for key in positions_of("capybara", text, "key"))
