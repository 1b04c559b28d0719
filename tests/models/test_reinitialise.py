"""A network drawn anew under the embeddings it was trained with."""

from __future__ import annotations

import pytest
import torch

import eyeline as el
from eyeline.models.reinitialise import embedding_parts, reinitialised
from tests.models.families import FAMILIES, tiny_tokenizer

READERS = [family for family in FAMILIES if family.reads == "text"]


@pytest.mark.parametrize("family", READERS, ids=str)
def test_embeddings_are_the_same_and_every_matrix_of_the_layers_is_another(family):
    model = el.wrap(family.model(), tiny_tokenizer(), name=family.name)
    before = {name: parameter.clone() for name, parameter in model.hf.named_parameters()}
    fresh = reinitialised(model)
    tables = [module for part in embedding_parts(fresh.hf) for module in part.modules() if isinstance(module, torch.nn.Embedding)]
    assert any(module is fresh.hf.get_input_embeddings() for module in tables)
    kept = {parameter for part in embedding_parts(fresh.hf) for parameter in part.parameters()}
    for name, parameter in fresh.hf.named_parameters():
        if parameter in kept:
            assert torch.equal(parameter, before[name]), name
        elif parameter.ndim > 1 and before[name].any():  # some start with biases of zero
            assert not torch.equal(parameter, before[name]), name
        assert torch.equal(dict(model.hf.named_parameters())[name], before[name]), "the model itself was changed"


def test_attention_of_the_fresh_network_differs_and_the_seed_decides_it(minilm):
    text, keep = "The cat sat on the mat.", {"weights"}
    trained = minilm.trace(text, keep=keep).weights
    item, same, other = (reinitialised(minilm, seed).trace(text, keep=keep).weights for seed in (0, 0, 1))
    assert abs(trained - item).max() > 0.1
    assert (item == same).all()
    assert (item != other).any()


def test_the_random_state_of_the_program_is_left_alone(minilm):
    torch.manual_seed(5)
    expected = torch.rand(3)
    torch.manual_seed(5)
    reinitialised(minilm)
    assert torch.equal(torch.rand(3), expected)
