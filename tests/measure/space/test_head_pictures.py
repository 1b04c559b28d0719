"""Pictures of a space: a file a head, a sheet a layer, with lines and named pairs."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from eyeline import EyelineError
from eyeline.measure.space.figures import came_nearer, red_rows, relative_distance, save_pictures
from tests.browser import made_up_space as made_up


def test_every_head_has_a_file_in_each_format_and_every_layer_a_sheet(tmp_path):
    space = made_up.space([12, 9], layers=1, heads=2)
    paths = save_pictures(space, tmp_path / "pictures", red=["brown → quick"])
    names = {"L0-H0", "L0-H1", "layer-0"}
    assert {path.name for path in paths} == {f"{name}.{ending}" for name in names for ending in ("png", "svg", "pdf")}
    assert (tmp_path / "pictures" / "L0-H1.png").read_bytes()[:4] == b"\x89PNG"
    assert (tmp_path / "pictures" / "L0-H1.pdf").read_bytes()[:4] == b"%PDF"
    assert "#d00000" in (tmp_path / "pictures" / "layer-0.svg").read_text()


def test_named_pairs_are_rows_of_one_text_each():
    stack = made_up.space([12, 9]).only
    rows = red_rows(stack, ["brown:quick"])
    assert rows
    for query, key in rows:
        assert (stack.query_tokens.strings[query], stack.key_tokens.strings[key]) == ("brown", "quick")
        assert stack.query_tokens.text[query] == stack.key_tokens.text[key]


def test_a_pair_that_no_text_holds_and_a_format_that_is_none_are_named(tmp_path):
    with pytest.raises(EyelineError, match="'brown → zebra'"):
        save_pictures(made_up.space([12]), tmp_path, red=["brown → zebra"])
    with pytest.raises(EyelineError, match="Choices: png, svg, pdf"):
        save_pictures(made_up.space([12]), tmp_path, formats=["gif"])


def test_a_pair_that_came_nearer_is_counted_head_by_head():
    before = made_up.space([12, 9])
    rows = red_rows(before.only, ["brown → quick"])
    moved = before.only.queries.copy()
    for query, key in rows:
        moved[0, :, query] = before.only.keys[0, :, key]  # in the first layer the two meet
    after = replace(before, stacks={"encoder": replace(before.only, queries=moved)})
    (line,) = came_nearer(before, after, ["brown → quick"])
    x, y = before.only.queries[1, 2], before.only.keys[1, 2]
    slow = np.mean([np.linalg.norm(x[q] - y[k]) for q, k in rows]) / np.mean([np.linalg.norm(a - b) for a in x for b in y])
    assert relative_distance(before.only, rows)[1, 2] == pytest.approx(slow, rel=1e-5)
    assert "came nearer" in line
    assert "nearer in 3 of 6 heads" in line


def test_a_pair_that_came_a_little_nearer_is_told_with_the_digits_that_show_it():
    before = made_up.space([12, 9])
    rows = red_rows(before.only, ["brown → quick"])
    moved = before.only.queries.copy()
    for query, key in rows:
        moved[:, :, query] += 1e-3 * (before.only.keys[:, :, key] - moved[:, :, query])
    (line,) = came_nearer(before, replace(before, stacks={"encoder": replace(before.only, queries=moved)}), ["brown → quick"])
    assert "came nearer" in line
    first, second = re.findall(r"\d+\.\d+", line)
    assert first != second
