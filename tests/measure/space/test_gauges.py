"""Gauges leave attention as it is; the lifted one makes distance say exactly what the dot product says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from eyeline.measure.space.gauges import balance, lift, lifted, shift_keys
from tests.reference.softmax import softmax


@st.composite
def vectors(draw) -> tuple[np.ndarray, np.ndarray]:
    """Queries [head, query, dim] and keys [head, key, dim] of any size, far from the origin, some directions flat, some heads dead."""
    heads, n, m, dim = draw(st.integers(1, 3)), draw(st.integers(1, 9)), draw(st.integers(2, 9)), draw(st.integers(1, 6))
    generator = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    stretch = 10.0 ** generator.uniform(-2, 0.5, size=(2, dim))
    queries, keys = generator.normal(size=(heads, n, dim)) * stretch[0], generator.normal(size=(heads, m, dim)) * stretch[1]
    keys += generator.normal(size=dim) * draw(st.sampled_from([0.0, 1.0, 20.0]))
    if draw(st.booleans()):
        queries[..., 0] = 0  # a direction that no query uses
    if draw(st.booleans()):
        keys[0] = keys[0, :1]  # a dead head: all its keys are one
    return queries, keys


GAUGES = {
    "attentionviz": lambda q, k, c: (q * c, shift_keys(q, k) / c),
    "balanced": lambda q, k, c: balance(q, k),
    "lifted": lambda q, k, c: lifted(q, k),
    "lift alone": lambda q, k, c: lift(q, k),
}


@pytest.mark.parametrize("gauge", GAUGES)
@settings(max_examples=60, deadline=None)
@given(random_vectors=vectors(), log_c=st.floats(-3, 3))
def test_attention_from_gauged_vectors_is_the_attention(gauge, random_vectors, log_c):
    queries, keys = random_vectors
    before = softmax(queries @ np.swapaxes(keys, -1, -2))
    gauged_queries, gauged_keys = GAUGES[gauge](queries, keys, np.exp(log_c))
    after = softmax(gauged_queries @ np.swapaxes(gauged_keys, -1, -2))
    assert np.abs(before - after).max() < 1e-5


@settings(max_examples=100, deadline=None)
@given(random_vectors=vectors())
def test_lifted_distances_are_the_scores_turned_round_for_every_query(random_vectors):
    queries, keys = random_vectors
    q, k = lift(queries, keys)
    distances = np.square(q[:, :, None] - k[:, None]).sum(-1)  # [head, query, key]
    largest = np.square(keys).sum(-1).max(-1)[:, None, None]
    expected = np.square(queries).sum(-1)[..., None] + largest - 2 * queries @ np.swapaxes(keys, -1, -2)
    assert distances == pytest.approx(expected, rel=1e-9, abs=1e-9)


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**32 - 1), heads=st.integers(1, 3), n=st.integers(2, 12), dim=st.integers(1, 6))
def test_the_lifted_order_is_the_order_of_attention_exactly(seed, heads, n, dim):
    rng = np.random.default_rng(seed)
    queries, keys = rng.integers(-3, 4, size=(heads, n, dim)).astype(float), rng.integers(-3, 4, size=(heads, n, dim)).astype(float)
    q, k = lifted(queries, keys)
    scores = queries @ np.swapaxes(keys, -1, -2)  # whole numbers: what ties, ties
    distances = np.square(q[:, :, None] - k[:, None]).sum(-1)
    further, less = distances[..., :, None] - distances[..., None, :], scores[..., None, :] - scores[..., :, None]
    assert ((further > 0) == (less > 0))[np.abs(less) > 0].all()
    assert np.abs(further[less == 0]).max(initial=0) < 1e-4 * max(1.0, distances.max())


def test_balanced_sides_have_one_second_moment():
    generator = np.random.default_rng(0)
    queries, keys = generator.normal(size=(2, 200, 4)) * [1, 9, 0.1, 3], generator.normal(size=(2, 300, 4)) * [5, 1, 1, 0.2]
    q, k = balance(queries, keys)
    moments = [np.swapaxes(side, -1, -2) @ side / side.shape[-2] for side in (q, k)]
    assert moments[0] == pytest.approx(moments[1], rel=1e-3, abs=1e-3)


def test_the_shift_brings_the_centroids_together():
    generator = np.random.default_rng(0)
    queries, keys = generator.normal(size=(3, 20, 4)), generator.normal(size=(3, 30, 4)) + 7
    assert shift_keys(queries, keys).mean(-2) == pytest.approx(queries.mean(-2))


def weighted_correlation(queries: np.ndarray, keys: np.ndarray, weights: np.ndarray) -> float:
    """Of dot product and Euclidean distance, pair by pair from the formula."""
    pairs = [(float(q @ k), float(np.linalg.norm(q - k)), weights[i, j]) for i, q in enumerate(queries) for j, k in enumerate(keys)]
    total = sum(w for *_, w in pairs)
    means = [sum(pair[n] * pair[2] for pair in pairs) / total for n in range(2)]
    products = [sum(pair[2] * (pair[a] - means[a]) * (pair[b] - means[b]) for pair in pairs) for a, b in ((0, 1), (0, 0), (1, 1))]
    return products[0] / (products[1] * products[2]) ** 0.5
