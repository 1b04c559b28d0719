"""Projections found by measurement: what they make of a layer's input is what was recorded, in every family."""

from __future__ import annotations

import threading

import numpy as np
import pytest
import torch
from transformers.models.llama.modeling_llama import apply_rotary_pos_emb

import eyeline as el
from eyeline.models.projections import LayerKey, Projections, Side, projections, watching_layer_inputs
from tests.models.families import BY_NAME, FAMILIES, Family, tiny_tokenizer
from tests.reference.softmax import softmax

TEXT, WRITTEN = "the cat sat on the mat .", "the dog ran"
WITHIN = 1e-5
TEXT_FAMILIES = [family for family in FAMILIES if family.reads == "text" and family.recorded]
LINEAR = [family for family in TEXT_FAMILIES if family.name != "deepseek-v3"]


def opened(family: Family) -> el.Model:
    """With biases that are not zero, so that one that is lost shows."""
    hf = family.model()
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            if name.endswith("bias"):
                parameter.add_(torch.randn(parameter.shape, generator=generator) * 0.3)
    return el.wrap(hf, tiny_tokenizer(), name=family.name)


def text_for(model: el.Model) -> str | tuple[str, str]:
    return (TEXT, WRITTEN) if model.hf.config.is_encoder_decoder else TEXT


def traced(model: el.Model) -> el.Trace:
    return model.trace(TEXT, WRITTEN) if model.hf.config.is_encoder_decoder else model.trace(TEXT)


def layer_inputs(
    model: el.Model, text: str | tuple[str, str], *, known: dict[LayerKey, Projections], side: Side = "key"
) -> dict[LayerKey, np.ndarray]:
    """What enters the projections of each layer for one text: [token, hidden]."""
    inputs: dict[LayerKey, np.ndarray] = {}
    with watching_layer_inputs(model, known, side) as entered:

        def keep(layer: el.traces.LayerAttention) -> None:
            vectors = entered(layer)
            if vectors is not None:
                inputs[layer.stack, layer.layer] = vectors[0].float().numpy().copy()

        model.passes.layers([model.read(text)], keep)
    return inputs


def close(left: np.ndarray, right: np.ndarray) -> None:
    np.testing.assert_allclose(left, right, rtol=0, atol=WITHIN * np.abs(right).max())


@pytest.mark.parametrize("family", LINEAR, ids=str)
def test_projections_of_the_input_are_the_recorded_vectors(family: Family) -> None:
    model = opened(family)
    known, trace = projections(model), traced(model)
    inputs = {side: layer_inputs(model, text_for(model), side=side, known=known) for side in ("query", "key", "value")}
    assert set(known) == {(slot.stack, slot.layer) for slot in model.layout.slots}
    for (stack, layer), maps in known.items():
        recorded = trace.stacks[stack]
        index = recorded.layers.index(layer)
        vectors = {"query": recorded.queries_by_layer, "key": recorded.keys_by_layer, "value": recorded.values_by_layer}
        assert maps.missing == {}
        for side, arrays in vectors.items():
            part = getattr(maps, side)
            rebuilt = part.of(inputs[side][stack, layer])
            if part.norm:
                continue
            first_only = maps.rotary and side != "value"
            close(rebuilt[:, :1] if first_only else rebuilt, arrays[index][:, :1] if first_only else arrays[index])
            close(np.linalg.norm(rebuilt, axis=-1), np.linalg.norm(arrays[index], axis=-1))


@pytest.mark.parametrize("family", LINEAR, ids=str)
def test_output_projection_makes_of_head_outputs_what_the_model_makes(family: Family) -> None:
    model = opened(family)
    known = projections(model)
    seen: dict[str, list[np.ndarray]] = {}
    names = {maps.output.module for maps in known.values() if maps.output is not None}
    handles = [
        model.hf.get_submodule(name).register_forward_hook(lambda _m, _i, out, name=name: seen.setdefault(name, []).append(out[0].numpy()))
        for name in names
    ]
    trace = traced(model)
    for handle in handles:
        handle.remove()
    for (stack, layer), maps in known.items():
        recorded = trace.stacks[stack]
        assert maps.output is not None
        outputs = recorded.outputs[recorded.layers.index(layer)]
        rebuilt = maps.output.by_head(outputs).sum(0) + (0 if maps.output.bias is None else maps.output.bias)
        close(rebuilt, seen[maps.output.module].pop(0))


@pytest.mark.parametrize("name", ["bert", "distilbert", "gpt2", "t5"])
def test_weights_can_be_rebuilt_from_inputs_and_projections(name: str) -> None:
    model = opened(BY_NAME[name])
    known, trace = projections(model), traced(model)
    queries, keys = (layer_inputs(model, text_for(model), side=side, known=known) for side in ("query", "key"))
    for (stack, layer), maps in known.items():
        recorded = trace.stacks[stack]
        index = recorded.layers.index(layer)
        scores = maps.query.of(queries[stack, layer]) @ maps.key.of(keys[stack, layer]).transpose(0, 2, 1) * recorded.scales[index]
        bias, mask = recorded.bias_by_layer[index], recorded.mask_by_layer[index]
        scores = scores if bias is None else scores + bias
        scores = scores if mask is None else np.where(mask, scores, -np.inf)
        np.testing.assert_allclose(softmax(scores), recorded.weights[index], rtol=0, atol=WITHIN)


def test_rotary_weights_of_llama_can_be_rebuilt_with_its_own_rotation() -> None:
    model = opened(BY_NAME["llama"])
    known, trace = projections(model), traced(model)
    inputs = layer_inputs(model, TEXT, known=known)
    stack = trace.stacks["decoder"]
    n = stack.weights.shape[-1]
    cos, sin = model.hf.rotary_emb(torch.zeros(1, n, 32), torch.arange(n)[None])
    for index, layer in enumerate(stack.layers):
        maps = known["decoder", layer]
        assert maps.rotary
        unrotated = [torch.tensor(part.of(inputs["decoder", layer]))[None].float() for part in (maps.query, maps.key)]
        query, key = apply_rotary_pos_emb(*unrotated, cos, sin)
        close(query[0].numpy(), stack.queries_by_layer[index])
        close(key[0].numpy(), stack.keys_by_layer[index])


def test_shapes_follow_heads_and_key_heads() -> None:
    maps = projections(opened(BY_NAME["llama"]))["decoder", 0]
    assert maps.query.weight.shape == (4, 8, 32)
    assert maps.key.weight.shape == maps.value.weight.shape == (2, 8, 32)
    assert maps.output.weight.shape == (4, 32, 8)


def test_norms_of_queries_and_keys_are_reported() -> None:
    normed, plain = projections(opened(BY_NAME["qwen3"]))["decoder", 0], projections(opened(BY_NAME["bert"]))["encoder", 0]
    assert (normed.query.norm, normed.key.norm, normed.rotary) == (True, True, True)
    assert (plain.query.norm, plain.key.norm, plain.rotary) == (False, False, False)


def test_projections_that_are_not_linear_in_the_layers_input_are_missing_with_a_reason() -> None:
    maps = projections(opened(BY_NAME["deepseek-v3"]))["decoder", 0]
    assert (maps.query, maps.key, maps.value) == (None, None, None)
    assert maps.output is not None
    assert "16 numbers, not the 32" in maps.missing["query"]
    assert "no linear module" in maps.missing["key"]


def test_a_model_outside_the_attention_interface_is_refused() -> None:
    with pytest.raises(el.errors.ModelError, match="cannot be found"):
        projections(opened(BY_NAME["bloom"]))


def test_no_hook_is_left_behind_and_the_mode_is_kept() -> None:
    model = opened(BY_NAME["bert"])
    model.hf.train()
    before = [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.hf.modules()]
    layer_inputs(model, TEXT, known=projections(model))
    assert [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in model.hf.modules()] == before
    assert model.hf.training


def test_threads_that_share_a_model_do_not_see_each_others_inputs() -> None:
    model = opened(BY_NAME["bert"])
    texts = [TEXT, "a dog ran home", "it purred , and sat", "the very long way home !"]
    known = projections(model)
    alone = [layer_inputs(model, text, known=known)["encoder", 2] for text in texts]
    together: dict[int, list[np.ndarray]] = {index: [] for index in range(len(texts))}

    def repeat(index: int) -> None:
        for _ in range(5):
            assert len(projections(model)) == 3
            together[index].append(layer_inputs(model, texts[index], known=known)["encoder", 2])

    threads = [threading.Thread(target=repeat, args=(index,)) for index in range(len(texts))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for index, expected in enumerate(alone):
        assert len(together[index]) == 5
        for vectors in together[index]:
            np.testing.assert_array_equal(vectors, expected)


def test_half_precision_is_recognised_too() -> None:
    hf = BY_NAME["bert"].model().to(torch.bfloat16)
    maps: Projections = projections(el.wrap(hf, tiny_tokenizer(), name="half"))["encoder", 1]
    assert maps.missing == {}
    np.testing.assert_allclose(maps.key.weight.reshape(32, 32), hf.encoder.layer[1].attention.self.key.weight.float().detach(), atol=0.02)
