"""Intervals of a share, by drawing its units again."""

from __future__ import annotations

import math

import numpy as np

from eyeline.mathematics import bootstrap_share


def test_the_same_seed_gives_the_same_interval_and_another_seed_another():
    random = np.random.default_rng(0)
    of = random.integers(1, 30, 400).astype(float)
    hits = random.binomial(of.astype(int), 0.6).astype(float)
    assert bootstrap_share(hits, of, seed=4) == bootstrap_share(hits, of, seed=4)
    assert bootstrap_share(hits, of, seed=4) != bootstrap_share(hits, of, seed=5)


def test_the_interval_holds_the_share_and_is_as_wide_as_the_binomial_law_says():
    random = np.random.default_rng(1)
    hits = (random.random(2000) < 0.7).astype(float)
    low, high = bootstrap_share(hits, np.ones(2000), samples=2000)
    assert low < hits.mean() < high
    assert math.isclose(high - low, 2 * 1.96 * math.sqrt(0.7 * 0.3 / 2000), rel_tol=0.1)


def test_sentences_that_stand_and_fall_together_make_it_wider():
    whole = np.repeat([1.0, 0.0], 50) * 20
    low, high = bootstrap_share(whole, np.full(100, 20.0))
    assert high - low > 2 * 1.96 * math.sqrt(0.25 / 2000) * 3


def test_nothing_to_count_has_no_interval():
    assert all(math.isnan(edge) for edge in bootstrap_share(np.zeros(3), np.zeros(3)))
