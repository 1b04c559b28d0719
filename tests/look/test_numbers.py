from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.look.numbers import Alike, alike, key_numbers, pair_weight, received_by_last, special_and_words, weights_on

WEIGHTS = [[[0.5, 0.25, 0.25], [0.2, 0.7, 0.1], [0.1, 0.3, 0.6]]]
VALUES = [[[3.0, 4.0], [1.0, 0.0], [0.0, 2.0]]]


def trace() -> el.Trace:
    return el.Trace.from_arrays([WEIGHTS], ["a", "b", "c"], values=np.array([VALUES]))


def test_a_weight_is_named_by_its_two_tokens():
    assert pair_weight(trace(), 0, 0, "b", "c") == pytest.approx(0.1)
    assert weights_on(trace(), 0, 0, "b") == pytest.approx([0.25, 0.7, 0.3])
    assert received_by_last(trace(), range(1)) == pytest.approx((0.25 + 0.1 + 0.6) / 3)


def test_special_tokens_stand_beside_the_words_between_them():
    numbers = special_and_words(trace(), 0, 0)
    assert numbers.to_first == pytest.approx(0.8 / 3)
    assert numbers.to_last == pytest.approx(0.95 / 3)
    assert (numbers.special_length, numbers.word_length) == (5.0, 1.0)


def test_the_arithmetic_of_a_query_ends_in_the_models_weights(minilm):
    traced = minilm.trace("The cat sat.")
    rows = key_numbers(traced, 1, 2, 3)
    assert [row.weight for row in rows] == pytest.approx(traced.weights[1, 2, 3].tolist(), abs=1e-5)
    assert sum(row.taken for row in rows) == pytest.approx(float(traced.outputs[1, 2, 3, 0]), abs=1e-5)


def test_a_dot_product_is_two_lengths_and_a_cosine():
    weights = np.full((1, 2, 2, 2), 0.5)  # [layer, head, query, key]
    queries, keys = np.array([[[[3.0, 4.0], [1.0, 0.0]], [[0.0, 2.0], [1.0, 1.0]]]]), np.array([[[[1.0, 0.0], [6.0, 8.0]]]])
    shared = el.Trace.from_arrays(weights, ["a", "b"], queries=queries, keys=keys)  # both heads share the keys
    assert alike(shared, 0, 0, 0, 1) == Alike(5.0, 10.0, pytest.approx(1.0))
    assert alike(shared, 0, 1, 0, 0) == Alike(2.0, 1.0, pytest.approx(0.0))
    assert alike(shared, 0, 0, 0, 0).cosine == pytest.approx(3 / 5)
