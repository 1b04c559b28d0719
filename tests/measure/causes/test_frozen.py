"""Gradients of models whose parameters are frozen, all or some, and of calls within torch's modes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from tests.measure.causes.tiny import PLAIN, TEXT, loud, masking_tokenizer
from tests.models.families import GROUPED, TINY, tiny_tokenizer

PAIR = {"clean": "the cat sat on the mat", "corrupt": "the dog sat on the mat", "answer": "cat", "against": "dog"}


def decoder() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(loud(t.LlamaForCausalLM(t.LlamaConfig(**GROUPED))), tiny_tokenizer())


def masked() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(loud(t.BertForMaskedLM(t.BertConfig(**TINY))), masking_tokenizer())


def tables(run: el.Run) -> dict[str, str]:
    return {name: table.to_csv() for name, table in run.tables.items()}


MEASURED: dict[str, Callable[[el.Model], Any]] = {
    "causes": lambda model: tables(el.causes(model, [PLAIN, "it ran ."])),
    "importance": lambda model: tables(el.analyse(model, [PLAIN], [el.statistics.Importance()])),
    "gradient": lambda model: el.attribute(model, TEXT, method="gradient").weights.tolist(),
    "integrated gradients": lambda model: el.attribute(model, TEXT, method="integrated-gradients", steps=8).weights.tolist(),
    "circuit": lambda model: tables(el.circuit(model, **PAIR, positions=False)),
}
#: Which parameters are frozen, by a part of their names.
FROZEN = {"all": "", "embeddings": "embed", "the lowest layer": ".0.", "an upper layer": ".2."}


@pytest.mark.parametrize("frozen", FROZEN)
@pytest.mark.parametrize(("make", "name"), [*((decoder, name) for name in MEASURED), (masked, "causes"), (masked, "gradient")])
def test_frozen_parameters_change_no_number_and_stay_frozen(make: Callable[[], el.Model], name: str, frozen: str) -> None:
    model = make()
    expected = MEASURED[name](model)
    for parameter_name, parameter in model.hf.named_parameters():
        parameter.requires_grad_(FROZEN[frozen] not in parameter_name)
    before = [parameter.requires_grad for parameter in model.hf.parameters()]
    assert not all(before)
    assert MEASURED[name](model) == expected
    assert [parameter.requires_grad for parameter in model.hf.parameters()] == before
    assert all(parameter.grad is None for parameter in model.hf.parameters())


@pytest.mark.parametrize("name", MEASURED)
def test_within_inference_mode_gradients_are_refused_and_within_no_grad_they_are_the_same(name: str) -> None:
    model = decoder()
    with torch.no_grad():
        result = MEASURED[name](model)
    assert result == MEASURED[name](model)
    with torch.inference_mode(), pytest.raises(ModelError, match=r"torch\.inference_mode"):
        MEASURED[name](model)
    with torch.inference_mode():
        inside = decoder()
        assert np.isfinite(inside.trace(PLAIN).weights).all()  # what needs no gradient goes on
    with pytest.raises(ModelError, match=r"made within torch\.inference_mode"):
        MEASURED[name](inside)
