"""Measures on small matrices, by hand."""

from __future__ import annotations

import numpy as np
import pytest

from eyeline.mathematics import entropy, mass_at_offset, mass_on, pool_to_words

MAP = np.array([[0.7, 0.2, 0.1], [0.1, 0.1, 0.8], [0.25, 0.5, 0.25]])  # [query, key]


def test_entropy_of_uniform_attention_is_log_n():
    assert entropy(np.full((2, 5), 0.2)) == pytest.approx(np.log(5))


def test_entropy_of_one_key_alone_is_zero_and_of_nothing_unknown():
    assert entropy(np.eye(3)).tolist() == [0, 0, 0]
    assert np.isnan(entropy(np.zeros((1, 3)))).all()


def test_mass_on_a_set_is_the_sum_of_its_columns():
    assert mass_on(MAP, np.array([True, False, True])) == pytest.approx([0.8, 0.9, 0.5])


OFFSETS = [(-1, [0, 0.1, 0.5]), (0, [0.7, 0.1, 0.25]), (1, [0.2, 0.8, 0]), (3, [0, 0, 0]), (-9, [0, 0, 0])]


@pytest.mark.parametrize(("offset", "expected"), OFFSETS)
def test_mass_at_an_offset_is_the_diagonal(offset, expected):
    assert mass_at_offset(MAP, offset) == pytest.approx(expected)


def test_pooling_sums_keys_and_averages_queries():
    pooled = pool_to_words(MAP, [[0, 1], [2]], [[0], [1, 2]])
    assert pooled == pytest.approx(np.array([[0.4, 0.6], [0.25, 0.75]]))
