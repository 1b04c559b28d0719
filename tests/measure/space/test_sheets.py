"""A page for each layer, with all its heads, lines and red pairs; and two models that can be told apart by name."""

from __future__ import annotations

from dataclasses import replace

import pytest

import eyeline as el
from eyeline.errors import TextError, TraceError
from eyeline.measure.space.result import layer_space
from eyeline.measure.space.view import save_sheets
from tests.browser import made_up_space


def test_every_layer_has_a_page_with_lines_and_pairs(tmp_path):
    space = made_up_space.space([12], layers=2, heads=3)
    paths = save_sheets(space, tmp_path / "pictures", red=["brown → quick", "the:quick"])
    assert [path.name for path in paths] == ["layer-0.html", "layer-1.html"]
    text = paths[1].read_text(encoding="utf-8")
    assert '"links":"best"' in text.replace(" ", "")
    assert "brown → quick; the → quick" in text


def test_the_space_of_a_layer_has_all_its_heads_and_no_other_layer():
    space = made_up_space.space([12], layers=3, heads=4)
    part = layer_space(space, "encoder", 2).only
    assert (part.layers, part.heads) == ((2,), (0, 1, 2, 3))
    assert (part.keys[0] == space.only.keys[2]).all()


def test_sheets_refuse_pairs_of_values_and_half_a_pair(tmp_path):
    with pytest.raises(TraceError, match="space of values"):
        save_sheets(made_up_space.space([12], of="values"), tmp_path, red=["a → b"])
    with pytest.raises(TextError, match="A pair written"):
        save_sheets(made_up_space.space([12]), tmp_path, red=["a"])


def test_two_spaces_of_models_with_one_name_are_numbered():
    space = made_up_space.space([12], model="minilm")
    same = el.space_view(space, space).spec
    assert [record["model"] for record in same["spaces"]] == ["minilm (1)", "minilm (2)"]
    assert same["model"] == "minilm (1) · minilm (2)"
    other = el.space_view(space, replace(space, model="tuned")).spec
    assert other["model"] == "minilm · tuned"
