"""The record of an attention call holds all that the call was made of, and says so where something is not there."""

from __future__ import annotations

import pytest
import torch

import eyeline as el
from eyeline.errors import TraceError
from tests.models.families import FAMILIES, Family, tiny_tokenizer

TEXT = "the cat sat on the mat ."
BY_NAME = {family.name: family for family in FAMILIES}


def layers_of(family: Family) -> tuple[el.Model, list[el.traces.LayerAttention]]:
    model = el.wrap(family.model(), tiny_tokenizer(), name=family.name)
    layers: list[el.traces.LayerAttention] = []
    item = (TEXT, "the mat") if model.hf.config.is_encoder_decoder else TEXT
    model.passes.layers([model.read(item)], layers.append)
    return model, layers


@pytest.mark.parametrize("name", ["bert", "gpt2", "llama", "gemma2", "t5"])
def test_a_call_computes_its_own_weights_again_and_those_of_some_of_its_queries(name: str) -> None:
    _, layers = layers_of(BY_NAME[name])
    for layer in layers:
        with torch.inference_mode():
            output, weights = layer.call.own()
            torch.testing.assert_close(weights, layer.weights, rtol=0, atol=0)
            torch.testing.assert_close(layer.call.head_outputs().transpose(1, 2), output, rtol=0, atol=1e-4)
            last = layer.call.rows(slice(-2, None))
            torch.testing.assert_close(last.own()[1], layer.weights[:, :, -2:], rtol=0, atol=1e-5)
            assert last.weights.shape == layer.weights[:, :, -2:].shape


def test_a_model_that_reports_its_weights_alone_has_no_call() -> None:
    _, layers = layers_of(BY_NAME["bloom"])
    assert layers[0].weights.shape[2] == layers[0].n_queries[0]
    with pytest.raises(TraceError, match="no queries, keys and values"):
        _ = layers[0].call.queries


def test_a_pass_without_maps_has_no_weights() -> None:
    model, _ = layers_of(BY_NAME["bert"])
    layers: list[el.traces.LayerAttention] = []
    model.passes.layers_without_maps([model.read(TEXT)], layers.append)
    assert layers[0].call.maps is None
    with pytest.raises(TraceError, match="without a map"):
        _ = layers[0].weights
