"""Arrays from anywhere become a trace, or an error that says where they are wrong."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import TextError, TraceError

TOKENS = ["the", "cat", "sat"]


def rows(heads: int = 2, queries: int = 3, keys: int = 3) -> np.ndarray:
    return np.full((heads, queries, keys), 1 / keys, dtype=np.float32)


@pytest.mark.parametrize(
    "weights",
    [
        np.stack([rows(), rows()]),
        [rows(), rows()],
        [rows()[None], rows()[None]],
        np.stack([rows(), rows()])[:, None],
        torch.tensor(np.stack([rows(), rows()])),
        (torch.tensor(rows())[None].requires_grad_(), torch.tensor(rows())[None]),
        [torch.tensor(rows(), dtype=torch.bfloat16)] * 2,
        [rows().astype(np.float16)] * 2,
        [rows().tolist(), rows().tolist()],
    ],
    ids=["array", "list", "batch-list", "batch-array", "torch", "torch-batch", "bfloat16", "float16", "lists"],
)
def test_every_way_to_hold_attention_is_read(weights: object) -> None:
    trace = el.Trace.from_arrays(weights, TOKENS)
    assert trace.weights.shape == (2, 2, 3, 3)
    np.testing.assert_allclose(trace.weights, 1 / 3, atol=2e-3)


def test_float32_arrays_are_not_copied() -> None:
    weights = np.stack([rows(), rows()])
    assert np.shares_memory(el.Trace.from_arrays(weights, TOKENS).encoder.weights_by_layer[1], weights)


def test_layers_may_differ_in_heads() -> None:
    assert [len(w) for w in el.Trace.from_arrays([rows(2), rows(4)], TOKENS).encoder.weights_by_layer] == [2, 4]


def test_keys_of_their_own_make_cross_attention() -> None:
    trace = el.Trace.from_arrays([rows(2, 3, 2)], TOKENS, key_tokens=["die", "Katze"])
    assert trace.cross.key_text.tokens == ("die", "Katze")


def test_pairs_special_tokens_and_vectors_are_kept() -> None:
    vectors = np.ones((1, 2, 3, 16))
    trace = el.Trace.from_arrays(
        [rows()], TOKENS, second_from=2, special=[True, False, False], queries=vectors, keys=vectors, values=vectors
    )
    assert trace.text.segments == (0, 0, 1)
    assert trace.text.special == (True, False, False)
    assert trace.values.shape == (1, 2, 3, 16)
    assert trace.scales == (0.25,)


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda w: w.__setitem__((1, 2, 0), np.nan), "layer 0, head 1, query 2 (sat), key 0 (the): nan"),
        (lambda w: w.__setitem__((1, 2, 0), np.inf), "layer 0, head 1, query 2 (sat), key 0 (the): inf"),
        (lambda w: w.__setitem__((0, 1, 2), -0.25), "layer 0, head 0, query 1 (cat), key 2 (sat): -0.25"),
        (lambda w: w.__setitem__((0, 1, 2), 0.9), "layer 0, head 0, query 1 (cat) sum to 1.567"),
    ],
    ids=["nan", "infinite", "negative", "sum"],
)
def test_what_is_not_attention_is_refused_with_its_position(spoil: object, message: str) -> None:
    weights = rows()
    spoil(weights)  # type: ignore[operator]
    with pytest.raises(TraceError) as error:
        el.Trace.from_arrays([weights], TOKENS)
    assert message in str(error.value)


@pytest.mark.parametrize(
    ("weights", "text"),
    [
        ([], "No weights"),
        ([None], "attn_implementation='eager'"),
        ([np.stack([rows(), rows()])], "a batch of 2"),
        (rows(), "One layer alone goes in a list"),
        ([rows(2, 4, 4)], "3 tokens, but the weights of layer 0 have shape [2, 4, 4]"),
        (["attention"], "not an array of numbers"),
        (None, "The weights are None"),
        (0.5, "a single float"),
        (np.float32(0.5), "a single float32"),
        (np.array(0.5), "a single ndarray"),
        (torch.tensor(0.5), "a single ndarray"),
        ("attention", "a single str"),
        ({"0": rows()}, "a single dict"),
        ([0.5], "shape []"),
        ([np.zeros((0, 3, 3))], "nothing in them"),
        (np.zeros((0, 2, 3, 3)), "No weights"),
        ([rows().astype(np.complex64)], "complex"),
        ([torch.tensor(rows()).to(torch.complex64)], "complex"),
        ([[[[1j, 0, 0]] * 3]], "complex"),
    ],
)
def test_wrong_shapes_are_refused_with_what_to_do(weights: object, text: str) -> None:
    with pytest.raises(TraceError) as error:
        el.Trace.from_arrays(weights, TOKENS)
    assert text in str(error.value)


def test_masked_rows_of_zeros_are_attention_too() -> None:
    weights = rows()
    weights[:, 0] = 0
    assert el.Trace.from_arrays([weights], TOKENS).weights[0, 0, 0].sum() == 0


@pytest.mark.parametrize(
    ("tokens", "shown_text"),
    [
        (["the", None, "sat"], "tokens[1] is None"),
        ([101, 7592, 102], "convert_ids_to_tokens"),
        ([b"the", b"cat", b"sat"], "tokens[0] is b'the', of type bytes"),
        ("cat", "a single str: 'cat'"),
        (b"cat", "a single bytes"),
        (None, "a single NoneType"),
        (3, "a single int"),
    ],
)
def test_tokens_that_are_no_strings_are_refused(tokens: object, shown_text: str) -> None:
    with pytest.raises(TextError) as error:
        el.traces.TokenizedText.from_tokens(tokens)  # type: ignore[arg-type]
    assert shown_text in str(error.value)
    with pytest.raises(TextError):
        el.Trace.from_arrays([rows()], tokens)  # type: ignore[arg-type]


@pytest.mark.parametrize("scale", ["big", [[1.0]], float("nan"), [None]])
def test_a_scale_that_is_no_number_is_refused(scale: object) -> None:
    with pytest.raises(TraceError, match="scale="):
        el.Trace.from_arrays([rows()], TOKENS, scale=scale)  # type: ignore[arg-type]
