"""The head map: distances kept where a plane can keep them, behaviours by the paper's thresholds, the later rule first."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.measure.corpus.distances import NO_BEHAVIOUR, NOT_MEASURED, behaviour_of, head_map, lay_out, stress
from eyeline.measure.corpus.figures import MARKERS, by_cluster


def square_of(points: np.ndarray) -> np.ndarray:
    return np.linalg.norm(points[:, None] - points[None], axis=-1)


def test_points_of_a_plane_keep_their_distances() -> None:
    square = square_of(np.random.default_rng(0).normal(size=(12, 2)))
    positions = lay_out(square, seed=0)
    np.testing.assert_allclose(square_of(positions), square, atol=0.02)
    assert stress(square, positions) < 0.01


def test_the_seed_decides_the_layout() -> None:
    square = square_of(np.random.default_rng(0).normal(size=(8, 5)))
    assert (lay_out(square, 3) == lay_out(square, 3)).all()


@pytest.mark.parametrize("n", [1, 2])
def test_one_or_two_heads_have_a_map_too(n: int) -> None:
    names = [f"L0·H{i}" for i in range(n)]
    table, stress = head_map(
        el.runs.Table({"head": names, **{name: [0.0 if i == j else 0.4 for j in range(n)] for i, name in enumerate(names)}}), {}, 0
    )
    assert len(table) == n
    assert stress == pytest.approx(0)


def test_a_later_rule_overwrites_an_earlier() -> None:
    heads = [(0, 0), (0, 1), (0, 2), (0, 3)]
    shares = {(0, 0): ("next", 0.51), (0, 1): ("previous", 0.5), (0, 2): ("next", 0.9), (0, 3): ("punctuation", 0.7)}
    tables = {
        "average_attention": el.runs.Table(
            {
                "layer": [0] * 4,
                "head": [0, 1, 2, 3],
                "target": [shares[head][0] for head in heads],
                "mean": [shares[head][1] for head in heads],
            }
        ),
        "entropy": el.runs.Table({"layer": [0] * 4, "head": [0, 1, 2, 3], "all": [1.0, 1.0, 3.9, 3.9]}),
    }
    assert behaviour_of(heads, tables) == ["next", NO_BEHAVIOUR, "broad", "punctuation"]
    assert behaviour_of(heads, {}) == [NOT_MEASURED] * 4


def test_similar_heads_become_neighbours() -> None:
    points = np.array([[0.0], [10.0], [0.1], [10.1], [0.2]])
    order = by_cluster(square_of(points))
    assert {frozenset(order[:2]), frozenset(order[:3])} & {frozenset({1, 3}), frozenset({0, 2, 4})}


def test_a_head_that_looks_at_the_first_token_of_a_decoder_has_a_marker_and_cls_says_more():
    rows = [("first", 0, 0.9), ("first", 1, 0.9), ("cls", 1, 0.9), ("first", 2, 0.5)]
    table = el.runs.Table.from_rows([{"layer": 0, "head": head, "target": target, "mean": mean} for target, head, mean in rows])
    assert behaviour_of([(0, 0), (0, 1), (0, 2)], {"average_attention": table}) == ["first", "cls", "none of these"]
    assert set(MARKERS) > {"first", "cls"}
    assert MARKERS["first"] != MARKERS["cls"]
