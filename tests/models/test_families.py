"""Every family: its output unchanged, its own maps to the bit, its stacks and layers told apart, its padding invisible."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import ModelError, TraceError
from tests.models.families import FAMILIES, Family, inputs_for, tiny_tokenizer
from tests.shared_models import guarded

TEXT, TARGET = "the cat sat on the mat .", "it purred and ran"
OUTPUTS = {"encoder": ("encoder_attentions", "attentions"), "decoder": ("decoder_attentions", "attentions"), "cross": ("cross_attentions",)}


def over(families):
    return pytest.mark.parametrize("family", families, ids=str)


EVERY = over(FAMILIES)
READING = over([family for family in FAMILIES if family.reads == "text"])
RECORDED = over([family for family in FAMILIES if family.recorded])
OUTSIDE = over([family for family in FAMILIES if not family.recorded])


@cache
def opened(family: Family) -> el.Model:
    return guarded(el.wrap(family.model(), tiny_tokenizer() if family.reads == "text" else None, name=family.name))


@pytest.fixture
def model(family):
    return opened(family)


def trace_of(model: el.Model, family: Family, **options) -> el.Trace:
    if family.reads == "text":
        return model.trace(TEXT, TARGET if "cross" in family.layers else None, **options)
    return model.trace_inputs(inputs_for(family), **options)


def own_output(family: Family, trace: el.Trace):
    """What the untouched model says to the same input, its own way."""
    inputs = inputs_for(family)
    if family.reads == "text":
        stack = next(iter(trace.stacks.values()))
        inputs = {"input_ids": torch.tensor([stack.key_text.ids])}
        if "cross" in family.layers:
            inputs["decoder_input_ids"] = torch.tensor([trace.decoder.query_text.ids])
    with torch.no_grad():
        return inputs, family.model()(**inputs, output_attentions=True)


def test_there_are_at_least_twenty_families():
    assert len(FAMILIES) >= 20


@EVERY
def test_weights_equal_the_models_own_in_every_stack_and_layer(family, model):
    trace = trace_of(model, family)
    _, output = own_output(family, trace)
    assert {name: len(stack.layers) for name, stack in trace.stacks.items()} == family.layers
    for name, stack in trace.stacks.items():
        own = next(output[key] for key in OUTPUTS[name] if output.get(key))
        for ours, theirs in zip(stack.weights_by_layer, own, strict=True):
            assert np.array_equal(ours, theirs[0].numpy())


@EVERY
def test_the_models_output_is_unchanged(family, model):
    inputs, expected = own_output(family, trace_of(model, family))
    with torch.no_grad():
        result = model.hf(**inputs)
    assert torch.equal(result[0], expected[0])


@EVERY
def test_layers_of_one_stack_differ_so_that_a_mix_up_would_show(family, model):
    for stack in trace_of(model, family).stacks.values():
        layers = [w.tobytes() for w in stack.weights_by_layer]
        assert len(set(layers)) == len(layers)


@RECORDED
def test_queries_and_keys_make_the_weights(family, model):
    for stack in trace_of(model, family).stacks.values():
        assert stack.plain is family.plain
        if not stack.plain:
            continue
        for i, weights in enumerate(stack.weights_by_layer):
            shared = stack.n_heads // stack.n_key_heads
            keys = np.repeat(stack.keys_by_layer[i], shared, axis=0)  # [head, key, dim]
            scores = stack.queries_by_layer[i] @ keys.swapaxes(1, 2) * stack.scales[i]  # [head, query, key]
            if stack.bias_by_layer[i] is not None:
                scores = scores + stack.bias_by_layer[i]
            if stack.mask_by_layer[i] is not None:
                scores = np.where(stack.mask_by_layer[i], scores, -np.inf)
            remade = torch.from_numpy(scores).softmax(-1).numpy()
            assert np.abs(remade - weights).max() < 1e-5


@RECORDED
def test_values_come_with_the_key_heads(family, model):
    for stack in trace_of(model, family).stacks.values():
        assert stack.values.shape[:3] == (len(stack.layers), stack.n_key_heads, len(stack.key_text))


@OUTSIDE
def test_models_outside_the_interface_say_that_they_give_weights_only(family, model):
    trace = trace_of(model, family)
    for name in ("queries", "keys", "values"):
        with pytest.raises(TraceError, match="only its weights"):
            getattr(trace, name)
    with pytest.raises(ModelError, match="only its weights"):
        model.trace(TEXT, keep={"weights", "keys"})
    assert str(model.gives) == "weights only"


@EVERY
def test_rows_sum_to_one(family, model):
    for stack in trace_of(model, family).stacks.values():
        totals = stack.weights.sum(-1)
        if family.rows_sum_to_one:
            assert np.abs(totals - 1).max() < 1e-5
        else:
            assert (totals < 1).all(), "a sink takes a part of every row"


@READING
def test_padding_is_invisible(family, model):
    texts = [TEXT, "the dog ran", "a very long way home and the cat sat on the mat and the dog ran home ."]
    pairs = [(text, TARGET[: 4 + 5 * i]) for i, text in enumerate(texts)] if "cross" in family.layers else texts
    together = model.traces(pairs)
    alone = [model.trace(*pair) if isinstance(pair, tuple) else model.trace(pair) for pair in pairs]
    for first, second in zip(together, alone, strict=True):
        for name, stack in first.stacks.items():
            assert stack.query_text == second.stacks[name].query_text
            assert np.abs(stack.weights - second.stacks[name].weights).max() < 1e-5
            if family.recorded:
                assert np.abs(stack.queries - second.stacks[name].queries).max() < 1e-4
                assert np.abs(stack.keys - second.stacks[name].keys).max() < 1e-4


@EVERY
def test_chosen_layers_and_parts_alone_are_kept(family, model):
    trace = trace_of(model, family, layers=[1], keep={"weights"})
    whole = trace_of(model, family)
    for name, stack in trace.stacks.items():
        assert stack.layers == (1,)
        assert np.array_equal(stack.weights[0], whole.stacks[name].weights_by_layer[1])
        assert not stack.has("queries")
        assert not stack.has("keys")
        assert not stack.has("values")
