"""Models whose maps are not the whole of their attention: learned sinks, layers without maps, heads of several sizes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from eyeline.look.stack import SINK_KEY
from tests.families.small_models import PLAIN, small_config, small_model
from tests.measure.causes.test_block_forms import model_of
from tests.models.families import open_family, tiny_tokenizer

TEXTS = ["the cat sat on the mat", "a dog ran home"]


def sinks_by_hand(model: el.Model, trace: el.Trace) -> np.ndarray:
    """exp(sink) / (Σ exp s + exp(sink)), from queries, keys and the model's own parameter: [layer, head, query]"""
    keys = np.repeat(trace.keys, 2, 1)
    scores = torch.from_numpy(trace.queries @ keys.swapaxes(2, 3) * trace.scales[0])
    masks = [torch.ones(scores.shape[2:]).bool() if m is None else torch.from_numpy(m) for m in trace.only.mask_by_layer]
    learned = torch.stack([layer.self_attn.sinks.detach() for layer in model.hf.layers])
    sums = scores.masked_fill(~torch.stack(masks)[:, None], -torch.inf).exp().sum(-1)
    return (learned.exp()[..., None] / (sums + learned.exp()[..., None])).numpy()


def test_a_learned_sink_is_a_key_of_its_own_in_views_and_a_target():
    model = open_family("gpt-oss")
    with torch.no_grad():
        for number, layer in enumerate(model.hf.layers):
            layer.self_attn.sinks.copy_(torch.tensor([0.5, -1.0, 2.0, number]))
    traces = model.traces(TEXTS)
    expected = [sinks_by_hand(model, trace) for trace in traces]
    shown = traces[0].only.with_sink()
    assert shown.key_text.tokens[-1] == SINK_KEY
    assert np.abs(shown.weights[..., -1] - expected[0]).max() < 1e-5
    assert np.abs(shown.weights.sum(-1) - 1).max() < 1e-5
    for view in (el.head_view(traces[0]), el.model_view(traces[0]), el.head_view(traces[0].words())):
        assert view.spec["texts"][view.spec["stacks"][0]["key_text"]]["tokens"][-1] == SINK_KEY
    assert str(traces[0].notices[0]).startswith("A learned sink takes a part")
    run = el.analyse(model, TEXTS, [el.statistics.AverageAttention(), el.statistics.Entropy()])
    measured = {(r["layer"], r["head"]): r["mean"] for r in run.table("average_attention").rows() if r["target"] == "sink"}
    entropies = {(r["layer"], r["head"]): (r["all"], r["uniform"]) for r in run.table("entropy").rows()}
    for layer in range(3):
        for head in range(4):
            mean = np.mean([sinks[layer, head].mean() for sinks in expected])
            assert measured[layer, head] == pytest.approx(mean, abs=1e-5)
            rows = [trace.only.with_sink().weights[layer, head] for trace in traces]
            entropy = np.mean([-(row * np.log(np.maximum(row, 1e-30))).sum(-1).mean() for row in rows])
            assert entropies[layer, head][0] == pytest.approx(entropy, abs=1e-5)
            seen = [trace.only.mask_by_layer[layer].sum(-1) for trace in traces]
            assert entropies[layer, head][1] == pytest.approx(np.mean([np.log(n + 1).mean() for n in seen]), abs=1e-5)


def test_a_sink_is_kept_in_the_file_of_a_trace(tmp_path):
    trace = open_family("gpt-oss").trace(TEXTS[0])
    again = el.open(trace.save(tmp_path / "trace.safetensors"))
    assert again.only.sink
    assert np.array_equal(again.only.with_sink().weights, trace.only.with_sink().weights)
    assert not open_family("llama").trace(TEXTS[0]).only.sink
    assert not open_family("gemma2").trace(TEXTS[0]).only.sink, "a softcap is no sink"


def test_a_hidden_key_is_not_given_to_the_sink():
    model = open_family("gpt-oss")
    heads = [(0, head) for head in range(4)]
    assert not model.trace(TEXTS[0], interventions=el.KnockOut(None, [1], heads, renormalise=False)).only.sink
    changed = model.trace(TEXTS[0], interventions=el.KnockOut(None, [1], heads))
    assert changed.only.sink
    assert np.abs(changed.only.with_sink().weights.sum(-1) - 1).max() < 1e-5


def test_layers_without_softmax_attention_are_named():
    notices = [str(notice) for notice in model_of("qwen3-next").notices]
    assert len(notices) == 1
    assert notices[0].startswith("Layers without softmax attention")
    assert "of 3: 0. They have no maps" in notices[0]
    for name in ("llama", "bert", "t5", "albert", "modernbert", "gemma3"):
        assert not open_family(name).notices


def test_a_model_with_several_residual_streams_has_no_circuit_and_says_why():
    torch.manual_seed(0)
    hf = t.AutoModelForCausalLM.from_config(small_config(t.CONFIG_MAPPING["deepseek_v4"], PLAIN)).eval()
    model = el.wrap(hf, tiny_tokenizer(), name="streams")
    with pytest.raises(ModelError, match="Layer 0 of streams does not take and give one vector for each token"):
        el.circuit(model, "the cat sat", "the dog sat", answer=10, against=11)


def test_heads_of_several_sizes_are_read_layer_by_layer(tmp_path):
    model = model_of("gemma4")
    trace = model.trace(TEXTS[0])
    assert [queries.shape[2] for queries in trace.only.queries_by_layer] == [8, 16, 16]
    with pytest.raises(TraceError, match=r"differs in shape from layer to layer[\s\S]*stack.outputs_by_layer"):
        _ = trace.outputs
    for weights, values, outputs in zip(trace.weights, trace.only.values_by_layer, trace.only.outputs_by_layer, strict=True):
        assert np.abs(outputs - weights @ np.repeat(values, len(weights) // len(values), 0)).max() < 1e-6
    again = el.open(trace.save(tmp_path / "trace.safetensors"))
    assert all(map(np.array_equal, again.only.values_by_layer, trace.only.values_by_layer))
    assert el.neuron_view(trace).spec["stacks"][0]["layers"][1]["queries"]
    assert el.analyse(model, TEXTS, [el.statistics.Entropy()]).table("entropy")
    with pytest.raises(EyelineError, match="heads of several sizes"):
        el.space(model, TEXTS)
    assert el.space(model, TEXTS, layers=[1, 2], project="pca").facts.counts


def test_a_mask_with_one_row_for_all_queries_is_that_of_every_query():
    """LayoutLM makes its own: [text, 1, 1, key]."""
    model = el.wrap(small_model("layoutlm"), tiny_tokenizer(), name="layoutlm")
    texts = [*TEXTS, "it purred"]
    run = el.analyse(model, texts, [el.statistics.Entropy()])
    assert run.facts.streamed
    maps = [trace.weights for trace in model.traces(texts)]
    expected = np.mean([-(w * np.log(np.maximum(w, 1e-30))).sum(-1).mean(-1) for w in maps], 0)  # [layer, head]
    measured = np.array([row["all"] for row in run.table("entropy").rows()]).reshape(expected.shape)
    assert np.abs(measured - expected).max() < 1e-5
