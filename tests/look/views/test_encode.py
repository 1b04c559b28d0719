"""Encoded weights are near enough to the true ones, whatever they are."""

from __future__ import annotations

import base64
import zlib

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from eyeline.look.views import data
from eyeline.look.views.data import LONG, NEAREST, SHORT, encode_mask, encode_vectors, encode_weights

weights = arrays(np.float32, array_shapes(min_dims=3, max_dims=3, max_side=7), elements=st.floats(0, 1, width=32))


@given(weights)
def test_every_weight_is_right_to_three_decimals(true: np.ndarray) -> None:
    assert np.abs(encode_weights(true).decode() - true).max() < 0.0005


@pytest.mark.parametrize("levels", [255, 200])
def test_every_weight_between_0_and_1_is_right_to_three_decimals(levels: int) -> None:
    true = np.linspace(0, 1, 400_000, dtype=np.float32).reshape(4, 100, 1000)
    assert np.abs(encode_weights(true, levels=levels).decode() - true).max() < 0.0005


@pytest.mark.parametrize("levels", [255, 200])
def test_the_first_byte_alone_is_within_0_005(levels: int) -> None:
    true = np.linspace(0, 1, 400_000, dtype=np.float32).reshape(4, 100, 1000)
    encoded = encode_weights(true, levels=levels)
    first = np.frombuffer(zlib.decompress(encoded.data), dtype=np.uint8, count=true.size).reshape(true.shape)
    assert np.abs((first / levels) ** 2 - true).max() <= 0.005


@given(weights)
def test_the_tail_has_a_byte_for_each_large_weight_in_order(true: np.ndarray) -> None:
    encoded = encode_weights(true)
    raw = np.frombuffer(zlib.decompress(encoded.data), dtype=np.uint8)
    assert len(raw) - true.size == (raw[: true.size] >= encoded.fine_from).sum()


def test_a_weight_of_0_and_a_weight_of_1_stay_themselves() -> None:
    shown = encode_weights(np.array([[[0.0, 1.0]]], dtype=np.float32)).decode()
    assert shown[0, 0, 0] == 0
    assert shown[0, 0, 1] == pytest.approx(1, abs=3e-5)


def test_a_fully_masked_row_of_nan_is_shown_as_nothing() -> None:
    true = np.array([[[np.nan, np.nan], [0.5, 0.5]]], dtype=np.float32)
    assert encode_weights(true).decode()[0, 0].tolist() == [0, 0]
    assert np.isnan(true[0, 0]).all()  # the trace itself is left alone


def test_half_precision_rows_that_round_above_1_do_not_wrap_round() -> None:
    assert encode_weights(np.full((1, 1, 1), 1.004, dtype=np.float32)).decode()[0, 0, 0] > 0.999


@pytest.mark.parametrize(("tokens", "levels"), [(LONG, 255), (LONG + 1, 200)])
def test_long_texts_take_fewer_levels(tokens: int, levels: int) -> None:
    assert encode_weights(np.zeros((1, 1, tokens), dtype=np.float32)).levels == levels


def attention(layers: int, tokens: int) -> list[np.ndarray]:
    """Weights as trained heads have them: some near uniform, some on a neighbour, some on the first token."""
    random = np.random.default_rng(0)
    sharpness = np.linspace(0.3, 3, 12).reshape(12, 1, 1)
    result = []
    for _ in range(layers):
        scores = random.normal(size=(12, tokens, tokens)) * sharpness
        scores[:, :, 0] += 3
        scores = np.exp(scores)
        result.append((scores / scores.sum(axis=-1, keepdims=True)).astype(np.float32))
    return result


@pytest.mark.parametrize(("tokens", "layers", "megabytes"), [(128, 12, 4), (512, 2, 25 / 6)])
def test_a_page_stays_under_its_size(tokens: int, layers: int, megabytes: float) -> None:
    sizes = [len(base64.b64encode(encode_weights(layer).data)) for layer in attention(layers, tokens)]
    assert sum(sizes) < megabytes * 1e6 - 150_000 * layers / 12


@given(arrays(np.float32, (2, 3, 4), elements=st.floats(-1000, 1000, width=32)))
def test_vectors_arrive_as_they_are(true: np.ndarray) -> None:
    np.testing.assert_array_equal(encode_vectors(true).decode(), true)


@given(arrays(bool, array_shapes(min_dims=2, max_dims=2, max_side=20)))
def test_masks_arrive_as_they_are(true: np.ndarray) -> None:
    np.testing.assert_array_equal(encode_mask(true).decode(), true)


def test_short_texts_and_the_neuron_view_carry_more() -> None:
    true = np.linspace(0, 1, 4 * 50 * SHORT, dtype=np.float32).reshape(4, 50, SHORT)
    assert np.abs(encode_weights(true).decode() - true).max() < 0.00002
    assert np.abs(encode_weights(true.reshape(4, 25, 2 * SHORT), near=NEAREST).decode().ravel() - true.ravel()).max() < 0.00002


def test_a_bias_of_minus_infinity_stays_very_negative() -> None:
    assert encode_vectors(np.array([[[-np.inf, 0.0]]], dtype=np.float32)).decode().tolist() == [[[-60_000.0, 0.0]]]


def test_small_heads_encoded_together_give_the_bytes_of_heads_encoded_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    true = np.random.default_rng(0).dirichlet(np.full(9, 0.2), (13, 9)).astype(np.float32)
    together = encode_weights(true).data
    monkeypatch.setattr(data, "SLAB", 1)
    assert encode_weights(true).data == together
    monkeypatch.setattr(data, "SLAB", 5 * 81)  # the last slab has fewer heads than the others
    assert encode_weights(true).data == together
