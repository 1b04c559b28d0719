"""What the view of a space holds: points where the space has them, weights as they are, and clear words where it cannot be made."""

from __future__ import annotations

import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest

import eyeline as el
from eyeline.look.views.still import still
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts
from eyeline.measure.space import view as space_module
from eyeline.measure.space.options import SpaceFacts, SpaceOptions
from tests.browser import made_up_space as made_up


def decoded(view, name: str) -> np.ndarray:
    layer = view.spec["spaces"][0]["stacks"][0]["layers"][1]
    return view.arrays[layer[name]].decode()


def test_distances_between_points_are_kept_up_to_one_scale_a_head():
    space = made_up.space([12, 9])
    points = decoded(el.space_view(space), "points") / 65535  # [head, point, dims]
    true = np.concatenate([space.only.queries[1], space.only.keys[1]], axis=1)
    for shown, real in zip(points, true, strict=True):
        apart, really = (np.linalg.norm(item[:, None] - item[None], axis=-1) for item in (shown, real))
        scale = apart.max() / really.max()
        assert np.abs(apart - scale * really).max() < 5e-5
    assert points.min() >= 0.039
    assert points.max() <= 0.961


def test_the_strongest_keys_and_their_weights_are_the_spaces():
    space = made_up.space([12, 3, 9])
    view = el.space_view(space)
    tops, weights = decoded(view, "tops"), decoded(view, "top_weights")  # [head, rank, query]
    first = space.only.key_tokens.starts[space.only.query_tokens.text]
    keys = np.where(tops == 0, -1, tops + first - 1).swapaxes(1, 2)
    assert (keys == space.only.top_keys[1]).all()
    assert np.abs(weights.swapaxes(1, 2) - space.only.top_weights[1]).max() <= 0.0005


def test_maps_come_along_where_they_fit_and_stay_away_where_they_do_not(monkeypatch):
    space = made_up.space([12, 9])
    maps = decoded(el.space_view(space), "maps")
    assert np.abs(maps[2][: 12 * 12].reshape(12, 12) - space.only.map(1, 2, 0)).max() < 1e-6
    monkeypatch.setattr(space_module, "MOST_ARRAY_BYTES", 1)
    small = el.space_view(space)
    assert {layer["maps"] for layer in small.spec["spaces"][0]["stacks"][0]["layers"]} == {None}
    assert not [name for name in small.arrays if name.endswith("maps")]
    assert el.space_view(made_up.space([12, 9], maps=False)).spec["spaces"][0]["stacks"][0]["layers"][0]["maps"] is None


def test_the_spec_is_plain_json_whatever_the_numbers_are():
    space = made_up.space([4, 3])
    stack = replace(space.only, facts={**space.only.facts, "kl": np.full((2, 3), np.nan)})
    stack.keys[0, 0, 0] = np.nan
    stack.keys[1, :, :] = 7.0
    view = el.space_view(replace(space, stacks={"encoder": stack}))
    text = json.dumps(view.spec, allow_nan=False)
    assert '"kl": null' in text
    ElementTree.fromstring(still(view))  # noqa: S314 - our own output


@pytest.mark.parametrize("state", [{}, {"opened": True, "layer": 1, "heads": [2]}])
@pytest.mark.parametrize("of", ["queries-keys", "values"])
def test_the_still_picture_names_heads_and_fidelity(state, of):
    drawn = still(made_up.view([12, 9], state=state, of=of))
    ElementTree.fromstring(drawn)  # noqa: S314
    assert ("L0·H1" in drawn) == (not state)
    assert "L1·H2" in drawn
    assert "64 %" in drawn
    assert len(drawn) < 200_000


def test_the_picture_of_a_space_can_be_saved(tmp_path):
    view = made_up.view()
    for ending, begins in (("svg", b"<?xml"), ("pdf", b"%PDF"), ("png", b"\x89PNG")):
        view.save(tmp_path / f"x.{ending}")
        assert (tmp_path / f"x.{ending}").read_bytes().startswith(begins)
    with pytest.raises(el.EyelineError, match=r"\.html, \.svg, \.pdf, \.png"):
        view.save(tmp_path / "x.gif")


def test_a_layer_and_a_head_open_by_their_numbers():
    space = made_up.space([6])
    numbered = replace(space, stacks={"encoder": replace(space.only, layers=(3, 8), heads=(0, 5, 7))})
    view = el.space_view(numbered, layer=8, head=5)
    assert (view.state["layer"], view.state["heads"], view.state["opened"]) == (1, [1], True)
    for wrong in ({"layer": 1}, {"head": 6}):
        with pytest.raises(el.EyelineError, match="is not in this view"):
            el.space_view(numbered, **wrong)


@pytest.mark.parametrize(
    ("wrong", "words"),
    [
        ({"text": 3}, "there are 3 texts"),
        ({"point": 70}, "there are 70 points"),
        ({"lasso": [0, 99]}, "there are 70 points"),
        ({"colour_points": "positon"}, "Did you mean position"),
        ({"links_top": 0}, "from 1 to 200"),
        ({"turn": {"roll": 1}}, "no 'roll'"),
        ({"stack": 1}, "there are 1 stacks"),
    ],
)
def test_a_state_that_does_not_fit_is_refused(wrong, words):
    with pytest.raises(el.EyelineError, match=words):
        made_up.view([12, 9, 14], state=wrong)


def test_a_state_that_fits_is_kept():
    state = {
        "text": 2,
        "point": 69,
        "lasso": [1, 2],
        "links": "best",
        "pairs": "a → b",
        "turn": {"yaw": 1.0, "pitch": 0.0},
        "tool": "lasso",
    }
    assert made_up.view([12, 9, 14], state=state).state.items() >= state.items()


def test_two_spaces_share_their_texts_and_keep_what_both_have():
    first = made_up.space([12, 9], layers=3, heads=3)
    other = made_up.space([12, 9], layers=2, heads=4, seed=1)
    view = el.space_view(first, other)
    assert len(view.spec["texts"]) == 2
    assert [len(first["stacks"][0]["layers"]) for first in view.spec["spaces"]] == [2, 2]
    assert [first["stacks"][0]["heads"] for first in view.spec["spaces"]] == [[0, 1, 2], [0, 1, 2]]


def test_spaces_of_different_corpora_are_not_compared():
    with pytest.raises(el.EyelineError, match="2 texts on one side, 3 on the other"):
        el.space_view(made_up.space([12, 9]), made_up.space([12, 9, 4]))


def test_long_texts_and_many_points_keep_their_numbers():
    space: el.Space = made_up.space([300], layers=2, heads=1)
    view = el.space_view(space)
    assert view.arrays["0.encoder.1.tops"].dtype == "uint16"
    keys = decoded(view, "tops").swapaxes(1, 2) - 1
    assert (keys == space.only.top_keys[1]).all()
    assert repr(view) == "<space view of made up, 1 text>"


def test_a_notice_of_one_of_two_spaces_names_its_model():
    facts = [SpaceFacts(ModelFacts("made up"), CorpusFacts("a.txt", "1"), SpaceOptions(), notices=("Both.", own)) for own in ("A.", "B.")]
    first, second = (replace(made_up.space([12, 9]), facts=each, model=name) for each, name in zip(facts, ("a", "b"), strict=True))
    assert el.space_view(first).spec["notices"] == ["Both.", "A."]
    assert el.space_view(first, second).spec["notices"] == ["Both.", "a: A.", "b: B."]


def test_spaces_of_other_texts_in_like_number_are_not_compared():
    facts = [SpaceFacts(ModelFacts("made up"), CorpusFacts("a.txt", sha), SpaceOptions()) for sha in ("1", "2")]
    first, second = (replace(made_up.space([12, 9]), facts=each) for each in facts)
    assert el.space_view(first, first)
    with pytest.raises(el.EyelineError, match="Make both from the same corpus"):
        el.space_view(first, second)
