"""The correlation over all pairs, made of sums text by text, is that of one long list of pairs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eyeline.measure.space.gauges import AllPairs, TextPairs, find_scale
from tests.reference import gauge as slow

LENGTHS = (4, 7, 2)


def texts_of_heads(n_heads: int, far: float = 0.0) -> tuple[np.ndarray, np.ndarray, list[TextPairs]]:
    """Queries, keys [head, token, dim] and the weights of three texts."""
    draw = np.random.default_rng(0)
    queries, keys = draw.normal(size=(n_heads, sum(LENGTHS), 5)) * 3, draw.normal(size=(n_heads, sum(LENGTHS), 5)) * 0.4 + far
    starts = np.concatenate([[0], np.cumsum(LENGTHS)])
    texts = []
    for begin, end in itertools.pairwise(starts):
        weights = draw.uniform(size=(n_heads, end - begin, end - begin))
        texts.append(TextPairs(slice(begin, end), slice(begin, end), weights / weights.sum(-1, keepdims=True)))
    return queries, keys, texts


@pytest.mark.parametrize("c", [0.2, 1.0, 3.0])
@pytest.mark.parametrize("far", [0.0, 1000.0])
def test_sums_give_the_correlation_of_all_pairs(c, far):
    queries, keys, texts = texts_of_heads(3, far)
    correlations = AllPairs(queries, keys, texts).correlation(np.full(3, c))
    for head in range(3):
        own = [(queries[head, text.rows], keys[head, text.columns], text.weights[head]) for text in texts]
        assert correlations[head] == pytest.approx(slow.distance_correlation(own, c), abs=1e-7)


def test_a_weight_of_zero_leaves_a_pair_out():
    queries, keys, texts = texts_of_heads(1)
    (first, *_), hidden = texts, np.tril(np.ones((LENGTHS[0], LENGTHS[0])))
    causal = TextPairs(first.rows, first.columns, first.weights * hidden)
    x = queries[0, first.rows] @ keys[0, first.columns].T
    y = np.linalg.norm(queries[0, first.rows][:, None] - keys[0, first.columns][None], axis=-1)
    seen = hidden > 0
    expected = slow.weighted_correlation(x[seen].tolist(), y[seen].tolist(), first.weights[0][seen].tolist())
    assert AllPairs(queries, keys, [causal]).correlation() == pytest.approx(expected)


def test_the_scale_that_is_found_is_better_than_any_on_a_grid():
    queries, keys, texts = texts_of_heads(4)
    pairs = AllPairs(queries, keys, texts)
    c, best = find_scale(pairs.correlation, (4,))
    grid = np.stack([pairs.correlation(np.full(4, step)) for step in np.exp(np.linspace(-4, 4, 200))])
    assert (best <= grid.min(0) + 1e-4).all()
    assert best == pytest.approx(pairs.correlation(c))


def test_constant_vectors_have_no_correlation_and_keep_their_scale():
    ones = np.ones((1, 12, 3))
    pairs = AllPairs(ones, ones, [TextPairs(slice(0, 12), slice(0, 12), np.full((1, 12, 12), 1 / 12))])
    c, result = find_scale(pairs.correlation, (1,))
    assert c.tolist() == [1.0]
    assert np.isnan(result).all()
