"""Parts of a conversation in views: which part looks at which, and the colour of each."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.palette import part_colour
from eyeline.look.stack import stack_from_arrays
from eyeline.look.trace import Trace
from eyeline.look.views.drawing import visible_part
from eyeline.text.tokenized import TokenizedText

TOKENS = ["<s>", "be", "kind", "</s>", "who", "sat", "?"]
PARTS, PART_OF = ["template", "system", "user 1"], [0, 1, 1, 0, 2, 2, 2]
VIEWS = {"head": el.head_view, "model": el.model_view, "neuron": el.neuron_view, "sentence": el.sentence_view}


@cache
def conversation() -> Trace:
    random = np.random.default_rng(0)
    weights = random.dirichlet(np.full(7, 0.4), size=(2, 3, 7))  # [layer, head, query, key]
    vectors = {what: random.normal(size=(2, 3, 7, 4)) for what in ("queries", "keys", "values")}
    text = TokenizedText.from_tokens(TOKENS, special=[True, False, False, True, False, False, False]).with_parts(PARTS, PART_OF)
    return Trace("made up", {"decoder": stack_from_arrays(weights, text, name="decoder", **vectors)})


def colours_in(picture: str) -> set[str]:
    return {colour for colour in map(part_colour, range(3)) if re.search(rf'<rect[^>]*fill="{colour}"', picture)}


@pytest.mark.parametrize("kind", VIEWS)
def test_a_view_shows_the_attention_of_one_part_to_another(kind, tmp_path: Path):
    view = VIEWS[kind](conversation(), query_part=2, key_part=1)
    assert view.spec["texts"][0]["parts"] == PARTS
    assert view.spec["texts"][0]["part_of"] == PART_OF
    part = visible_part(view, 0, level="token")
    assert (part.queries, part.keys) == (["who", "sat", "?"], ["be", "kind"])
    np.testing.assert_allclose(part.weights, conversation().weights[0][:, 4:, 1:3], atol=1e-3)
    view.save(tmp_path / "x.svg")
    picture = (tmp_path / "x.svg").read_text()
    assert "Looks from: user 1" in picture
    assert "Looks at: system" in picture
    assert not colours_in(picture)


@pytest.mark.parametrize("shown_as", ["lines", "heatmap"])
@pytest.mark.parametrize("kind", VIEWS)
def test_a_picture_has_the_colours_of_the_parts_it_shows_and_their_names(kind, shown_as, tmp_path: Path):
    options = {"as": shown_as} if kind in ("head", "model") else {}
    VIEWS[kind](conversation(), colour_parts=True, **options).save(tmp_path / "x.svg")
    picture = (tmp_path / "x.svg").read_text()
    assert colours_in(picture) == {part_colour(0), part_colour(1), part_colour(2)}
    assert all(name in picture for name in PARTS)
    VIEWS[kind](conversation(), colour_parts=True, key_part=1, query_part=1, **options).save(tmp_path / "x.svg")
    assert colours_in((tmp_path / "x.svg").read_text()) == {part_colour(1)}


def test_a_part_that_a_text_does_not_have_is_refused():
    with pytest.raises(TraceError, match="there are 3 query_parts"):
        el.head_view(conversation(), query_part=3)
    plain = Trace.from_arrays([[[[0.5, 0.5], [1.0, 0.0]]]], ["a", "b"])
    assert "parts" not in el.head_view(plain).spec["texts"][0]
    with pytest.raises(TraceError, match="there are 0 key_parts"):
        el.head_view(plain, key_part=0)


def test_words_belong_to_the_part_of_their_first_token():
    view = el.head_view(conversation(), level="word", query_part=1)
    assert visible_part(view, 0).queries == ["be", "kind"]
