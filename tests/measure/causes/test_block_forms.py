"""Gates behind the heads, norms and factors before the residual stream: quantities, ablations and circuits by other means."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.measure.causes.blocks import record_blocks
from eyeline.measure.causes.circuit import contrast, edge_scores
from tests.models.families import GROUPED, TINY, tiny_tokenizer

TEXT = "the cat sat on the mat and purred"
LINEAR = {
    "layer_types": ["linear_attention", "full_attention", "full_attention"],
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
}
EXPERTS = {"num_experts": 4, "num_experts_per_tok": 2, "moe_intermediate_size": 16}
GEMMA = {**GROUPED, "sliding_window": 4}
#: Name → its configuration; what reads the residual stream behind attention; the norm that attention passes before it is added.
FORMS = {
    "qwen3-next": (
        lambda: t.Qwen3NextConfig(**GROUPED, **LINEAR, **EXPERTS, shared_expert_intermediate_size=16),
        "post_attention_layernorm",
        "",
    ),
    "qwen3.5": (lambda: t.Qwen3_5TextConfig(**GROUPED, **LINEAR), "post_attention_layernorm", ""),
    "afmoe": (
        lambda: t.AfmoeConfig(**GEMMA, **EXPERTS, num_local_experts=4),
        "pre_mlp_layernorm",
        "post_attention_layernorm",
    ),
    "gemma2": (lambda: t.Gemma2Config(**GEMMA, query_pre_attn_scalar=8), "pre_feedforward_layernorm", "post_attention_layernorm"),
    "gemma3": (lambda: t.Gemma3TextConfig(**GEMMA, query_pre_attn_scalar=8), "pre_feedforward_layernorm", "post_attention_layernorm"),
    "gemma4": (
        lambda: t.Gemma4TextConfig(
            **GEMMA,
            layer_types=["sliding_attention", "full_attention", "full_attention"],
            global_head_dim=16,
            vocab_size_per_layer_input=64,
            hidden_size_per_layer_input=8,
            num_kv_shared_layers=1,
        ),
        "pre_feedforward_layernorm",
        "post_attention_layernorm",
    ),
    "olmo2": (lambda: t.Olmo2Config(**TINY, num_key_value_heads=2), "mlp", "post_attention_layernorm"),
    "olmo3": (lambda: t.Olmo3Config(**TINY, num_key_value_heads=2, sliding_window=4), "mlp", "post_attention_layernorm"),
    "granite": (
        lambda: t.GraniteConfig(
            **TINY,
            num_key_value_heads=2,
            residual_multiplier=0.22,
            attention_multiplier=0.3,
            embedding_multiplier=3.0,
            logits_scaling=4.0,
        ),
        "post_attention_layernorm",
        "",
    ),
}
GATED = ("qwen3-next", "qwen3.5", "afmoe")


@cache
def model_of(name: str) -> el.Model:
    torch.manual_seed(0)
    hf = t.AutoModelForCausalLM.from_config(FORMS[name][0](), attn_implementation="eager").eval()
    with torch.no_grad():
        for path, parameter in hf.named_parameters():
            if parameter.ndim > 1 and "embed" not in path:
                parameter.mul_(3.0)
            elif parameter.ndim == 1:  # the weights of norms
                parameter.add_(0.3 * torch.rand_like(parameter))
        for path, buffer in hf.named_buffers():
            if path.endswith("layer_scalar"):
                buffer.mul_(0.7)
    return el.wrap(hf, tiny_tokenizer(), name=name)


def attending(model: el.Model) -> list[torch.nn.Module]:
    """The layers with softmax attention."""
    return [layer for layer in model.hf.model.layers if hasattr(layer, "self_attn")]


def read_by(model: el.Model, modules: list[torch.nn.Module]) -> list[torch.Tensor]:
    """What enters modules in a plain pass over the text, and what leaves them: [token, dim] each."""
    kept: dict[torch.nn.Module, tuple[torch.Tensor, torch.Tensor]] = {}
    handles = [m.register_forward_hook(lambda m, given, left: kept.update({m: (given[0][0], left[0])})) for m in modules]
    try:
        with torch.no_grad():
            model.hf(**model.tokenizer(TEXT, return_tensors="pt"))
    finally:
        for handle in handles:
            handle.remove()
    return [kept[module] for module in modules]


@pytest.mark.parametrize("name", GATED)
def test_outputs_are_what_the_output_projection_reads_behind_the_gates(name, tmp_path):
    model = model_of(name)
    read = read_by(model, [layer.self_attn.o_proj for layer in attending(model)])
    trace = model.trace(TEXT)
    el.open(trace.save(tmp_path / "trace.safetensors"))
    for kept in (trace, el.open(tmp_path / "trace.safetensors"), model.traces([TEXT, "the dog ran"])[0]):
        for (entered, _), outputs in zip(read, kept.outputs, strict=True):
            side_by_side = outputs.swapaxes(0, 1).reshape(entered.shape)
            assert np.abs(side_by_side - entered.numpy()).max() < 1e-5
    ungated = np.stack([w @ np.repeat(v, 2, 0) for w, v in zip(trace.weights, trace.values, strict=True)])
    assert np.abs(ungated - trace.outputs).max() > 0.1


def test_a_watched_pass_has_the_gates_too():
    model = model_of("qwen3-next")
    with el.watch(model, keep=("weights", "values")) as seen, torch.no_grad():
        model.hf(**model.tokenizer(TEXT, return_tensors="pt"))
    assert np.abs(seen[0].outputs - model.trace(TEXT).outputs).max() < 1e-6


@pytest.mark.parametrize("name", FORMS)
def test_the_parts_of_a_block_add_up_to_its_residual_stream(name):
    model = model_of(name)
    layers = attending(model)
    expected = read_by(model, [getattr(layer, FORMS[name][1]) for layer in layers])
    inputs = dict(model.tokenizer(TEXT, return_tensors="pt"))
    blocks = record_blocks(model.hf, model.layout, inputs, name).blocks
    for block, (stream, _) in zip(blocks, expected, strict=True):
        assert torch.allclose(block.block_parts.sum(1), stream, atol=1e-4 * float(stream.abs().max()))
        assert torch.allclose(block.block_output, stream, atol=1e-4 * float(stream.abs().max()))


@pytest.mark.parametrize("name", FORMS)
def test_direct_logits_follow_the_formula_of_the_family(name):
    """A frozen RMS norm multiplies each number with what it gave divided by what it got."""
    model, (_, _, norm) = model_of(name), FORMS[name]
    hf, layers = model.hf, attending(model)
    last, head = read_by(model, [hf.model.norm, hf.lm_head])
    with torch.no_grad():
        logits = hf(**model.tokenizer(TEXT, return_tensors="pt")).logits[0, -1]
    answer = int(logits.argmax())
    slope = hf.lm_head.weight[answer] * (last[1][-1] / last[0][-1]) * (logits[answer] / head[1][-1, answer])  # [hidden]
    result = el.attribute(model, TEXT, method="logits", answer=answer)
    for number in reversed(range(len(layers))):
        layer = layers[number]
        slope = slope * getattr(layer, "layer_scalar", 1.0)
        entered, _ = read_by(model, [layer.self_attn.o_proj])[0]
        factor = getattr(layer, "residual_multiplier", 1.0)
        if norm:
            given, normed = read_by(model, [getattr(layer, norm)])[0]
            factor = normed[-1] / given[-1]
        heads = entered[-1].reshape(4, -1)
        columns = layer.self_attn.o_proj.weight.T.reshape(4, heads.shape[1], -1)  # [head, dim, hidden]
        expected = (torch.einsum("hd,hdx->hx", heads, columns) * factor * slope).sum(-1)
        assert np.abs(result.only.weights_by_layer[number][:, -1].sum(-1) - expected.detach().numpy()).max() < 1e-4


def test_norm_weighted_attention_goes_through_the_gates():
    """The gates by hand: Qwen3-Next's query projection holds them beside the queries."""
    model = model_of("qwen3-next")
    maps, trace = el.attribute(model, TEXT, method="norms"), model.trace(TEXT)
    for number, layer in enumerate(attending(model)):
        _, left = read_by(model, [layer.self_attn.q_proj])[0]
        gates = torch.sigmoid(left.reshape(len(left), 4, 2, 8)[:, :, 1])  # [query, head, dim]
        values = torch.from_numpy(np.repeat(trace.values[number], 2, 0))
        columns = layer.self_attn.o_proj.weight.T.reshape(4, 8, -1)
        written = torch.einsum("qhd,hkd,hdx->hqkx", gates, values, columns).norm(dim=-1).detach().numpy()
        assert np.abs(maps.weights[number] - trace.weights[number] * written).max() < 1e-5


@pytest.mark.parametrize("name", GATED)
def test_interventions_change_what_the_heads_write_behind_the_gates(name):
    model = model_of(name)
    other, layer = model.trace("the dog ran home"), attending(model)[-1]
    number = model.layout.layers("decoder")[-1]
    width = other.outputs.shape[-1]
    for change, expected in (
        (el.Ablate([(number, 1)], by="mean", source=other), other.outputs[-1, 1].mean(0)),
        (el.Patch(other, heads=[(number, 1)], positions=[2]), other.outputs[-1, 1, 2]),
    ):
        read: list[torch.Tensor] = []
        handle = layer.self_attn.o_proj.register_forward_pre_hook(lambda _m, given, read=read: read.append(given[0][0]))
        changed_answer = model.passes.output([model.read(TEXT)], [[change]]).logits
        handle.remove()
        assert np.abs(read[-1][2, width : 2 * width].numpy() - expected).max() < 1e-6

        def put(_m, given, expected=expected, change=change):
            changed = given[0].clone()
            changed[0, slice(None) if isinstance(change, el.Ablate) else 2, width : 2 * width] = torch.from_numpy(expected)
            return (changed,)

        handle = layer.self_attn.o_proj.register_forward_pre_hook(put)
        with torch.no_grad():
            expected_answer = model.hf(**model.tokenizer(TEXT, return_tensors="pt")).logits
        handle.remove()
        assert torch.allclose(changed_answer, expected_answer, atol=1e-5)
    assert not any(module._forward_pre_hooks for module in model.hf.modules())


@pytest.mark.parametrize("name", FORMS)
def test_the_edges_of_a_sender_add_up_to_its_attribution(name):
    """What leaves a head through all its edges, gates of higher heads among them, is the gradient for what it writes."""
    model = model_of(name)
    pair = contrast(model, "the cat sat on the mat", "the dog sat on the mat", 10, 11)
    written: list[list[torch.Tensor]] = [[], []]
    values = []
    for number, text in enumerate((pair.clean_text, pair.corrupt_text)):
        logits = model.passes.output(
            [text.example], inputs=text.inputs, receive=lambda _slot, z, number=number: written[number].append(z), gradients=True
        ).logits
        values.append(pair.metric(logits)[0])
    slopes = torch.autograd.grad(values[1], written[1])
    # a feed-forward block of Gemma 4 reads the stream twice: there heads alone are nodes
    edges = edge_scores(pair, "eap-through-mlps" if name == "gemma4" else "eap")
    assert (name in GATED) == any(edge.reads == "gates" for edge in edges)
    for layer, clean, corrupt, slope in zip(model.layout.layers("decoder"), *written, slopes, strict=True):
        change = ((clean - corrupt) * slope).sum((0, 1, 3)) / (pair.clean - pair.corrupt)
        for head in range(4):
            out = sum(edge.score for edge in edges if edge.sender == el.HeadRef("decoder", layer, head))
            assert out == pytest.approx(float(change[head].detach()), abs=1e-4)
