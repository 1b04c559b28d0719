"""Shift and scale searched together: the gradient is right, a slow search does no better, and no gauge is never better."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from eyeline.measure.space.gauges import Agreement, TextPairs, _HeadPairs, agreement_of, gauged, search_gauge
from eyeline.measure.space.options import DISTANCES, SHIFTS, SIGNS, WHERE
from tests.reference.softmax import softmax

EVERY = [Agreement(distance, where) for distance, where in product(DISTANCES, WHERE)]


def head(seed: int, dim: int = 3) -> tuple[np.ndarray, np.ndarray, list[TextPairs]]:
    """Two texts of 7 and 5 tokens, queries and keys around different centres."""
    generator = np.random.default_rng(seed)
    queries, keys = generator.normal(size=(12, dim)) + 2, generator.normal(size=(12, dim)) * 1.5 - 1
    rows = [slice(0, 7), slice(7, 12)]
    return queries, keys, [TextPairs(part, part, softmax(queries[part] @ keys[part].T)) for part in rows]


def correlation(dots: np.ndarray, distances: np.ndarray, weights: np.ndarray) -> float:
    """As a textbook has it."""
    weights = weights / weights.sum()
    x, y = dots - (weights * dots).sum(), distances - (weights * distances).sum()
    return float((weights * x * y).sum() / np.sqrt((weights * x * x).sum() * (weights * y * y).sum()))


@pytest.mark.parametrize("distance", DISTANCES)
def test_the_gradient_is_that_of_small_steps(distance: str) -> None:
    queries, keys, texts = head(1)
    pairs, at, step = _HeadPairs(queries, keys, texts), np.array([0.3, -0.2, 0.5, 0.1]), 1e-6
    value, gradient = pairs._value(at, queries, keys, distance)
    for i, shift in enumerate(np.eye(4) * step):
        assert gradient[i] == pytest.approx((pairs._value(at + shift, queries, keys, distance)[0] - value) / step, abs=1e-5)


def test_the_correlation_is_that_of_the_textbook() -> None:
    queries, keys, texts = head(2)
    dots = np.concatenate([(queries[t.rows] @ keys[t.columns].T).ravel() for t in texts])
    weights = np.concatenate([t.weights.ravel() for t in texts])
    far = np.concatenate([np.linalg.norm(queries[t.rows][:, None] - keys[t.columns][None], axis=-1).ravel() for t in texts])
    lengths = [np.linalg.norm(queries[t.rows], axis=-1)[:, None] * np.linalg.norm(keys[t.columns], axis=-1) for t in texts]
    cosine = 1 - dots / np.concatenate([each.ravel() for each in lengths])
    for distance, expected in (("euclidean", far), ("cosine", cosine)):
        assert agreement_of(queries, keys, queries, keys, texts, Agreement(distance)) == pytest.approx(correlation(dots, expected, weights))


@pytest.mark.parametrize("agreement", EVERY, ids=str)
@pytest.mark.parametrize("seed", range(4))
def test_the_searched_gauge_is_never_worse_than_none_or_the_shift_of_centroids(agreement: Agreement, seed: int) -> None:
    queries, keys, texts = head(seed)
    reached = search_gauge(queries, keys, texts, agreement)
    theirs = gauged(queries, keys, "attentionviz", texts)[:2]
    assert reached.correlation <= agreement_of(queries, keys, queries, keys, texts, agreement) + 1e-9
    if agreement.where == "full":
        assert reached.correlation <= agreement_of(queries, keys, *theirs, texts, agreement) + 1e-6
    new_queries, new_keys = queries * reached.scale, (keys + reached.shift) / reached.scale
    assert agreement_of(queries, keys, new_queries, new_keys, texts, agreement) == pytest.approx(reached.correlation)
    for text in texts:
        assert softmax(new_queries[text.rows] @ new_keys[text.columns].T) == pytest.approx(text.weights)


def test_a_slow_search_over_a_grid_does_no_better() -> None:
    queries, keys, texts = head(5, dim=2)
    reached = search_gauge(queries, keys, texts, Agreement())
    grid = product(np.linspace(-4, 4, 17), np.linspace(-4, 4, 17), np.exp(np.linspace(-1, 1, 9)))
    slow = min(agreement_of(queries, keys, queries * c, (keys + np.array([x, y])) / c, texts, Agreement()) for x, y, c in grid)
    assert reached.correlation <= slow + 1e-3


def test_a_constant_is_one_number_and_a_slow_search_over_it_does_no_better() -> None:
    for seed, where in product(range(3), WHERE):
        queries, keys, texts = head(seed)
        agreement = Agreement(where=where, shift="constant")
        reached = search_gauge(queries, keys, texts, agreement)
        assert np.ptp(reached.shift) == 0
        grid = product(np.linspace(-6, 6, 25), np.exp(np.linspace(-1, 1, 9)))
        slow = min(agreement_of(queries, keys, queries * c, (keys + a) / c, texts, agreement) for a, c in grid)
        assert reached.correlation <= slow + (1e-3 if where == "full" else 0.05)  # in the plane, axes and shift are found in turn
        assert search_gauge(queries, keys, texts, Agreement(where=where)).correlation <= reached.correlation + 0.05


@pytest.mark.parametrize("shift", SHIFTS)
def test_either_sign_is_never_weaker_than_the_negative_one(shift: str) -> None:
    for seed in range(3):
        queries, keys, texts = head(seed)
        negative, either = (search_gauge(queries, keys, texts, Agreement(shift=shift, sign=sign)).correlation for sign in SIGNS)
        assert abs(either) >= abs(negative) - 1e-9


def test_a_dead_head_keeps_its_vectors() -> None:
    queries, keys, texts = head(1)
    reached = search_gauge(np.ones_like(queries), np.ones_like(keys), texts, Agreement())
    assert np.isnan(reached.correlation)
    assert reached.scale == 1.0
    assert not reached.shift.any()
