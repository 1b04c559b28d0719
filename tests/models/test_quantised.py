"""Quantised models on a processor: exact against their own maps, parts and gradients right or refused; formats that are read."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from safetensors.torch import load_file, save_file

import eyeline as el
from eyeline.errors import ModelError
from eyeline.models.projections import projections
from tests.models.families import GROUPED, ROPE, tiny_tokenizer

TEXT = "the cat sat on the mat and purred"
SIZES = {**GROUPED, "hidden_size": 64, "head_dim": 16, "intermediate_size": 128, "num_hidden_layers": 2}


def saved(folder: Path) -> Path:
    torch.manual_seed(0)
    hf = t.LlamaForCausalLM(t.LlamaConfig(**SIZES))
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                parameter.mul_(3.0)
    hf.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


def quantised(folder: Path, kind: str, dtype: torch.dtype = torch.float32) -> el.Model:
    if kind.startswith("bitsandbytes"):
        pytest.importorskip("bitsandbytes", reason="bitsandbytes is not installed")
        config: Any = t.BitsAndBytesConfig(load_in_8bit=kind.endswith("8"), load_in_4bit=kind.endswith("4"))
    else:
        quantization = pytest.importorskip("torchao.quantization", reason="torchao is not installed: make test-adapters")
        config = t.TorchAoConfig(quantization.Int8WeightOnlyConfig())
    return el.load(saved(folder), quantization_config=config, dtype=dtype)


KINDS = ("bitsandbytes-8", "bitsandbytes-4", "torchao-int8")


@pytest.mark.parametrize("kind", KINDS)
def test_a_quantised_model_is_recorded_exactly_and_known_again(kind, tmp_path):
    model = quantised(tmp_path, kind)
    before = model.identity(), model.weights()
    trace = model.trace(TEXT)
    with torch.no_grad():  # the user's own call leaves the identity as it is
        own = model.hf(**model.tokenizer(TEXT, return_tensors="pt"), output_attentions=True)
    keys, queries = (torch.from_numpy(np.repeat(trace.keys, 2, 1)), torch.from_numpy(trace.queries))
    scores = (queries @ keys.mT * trace.scales[0]).masked_fill(torch.ones(*queries.shape[2:3] * 2).triu(1).bool(), -torch.inf)
    assert model.layout.recorded
    assert np.abs(scores.softmax(-1).numpy() - trace.weights).max() < 1e-6
    traced = model.trace(TEXT)
    assert np.array_equal(traced.weights, trace.weights)
    assert own.logits.isfinite().all()
    assert (model.identity(), model.weights()) == before
    again = quantised(tmp_path, kind)
    assert (again.identity(), again.weights()) == before
    with torch.no_grad():
        next(p for p in again.hf.parameters() if p.ndim == 1).mul_(1.01)
    assert again.weights() != before[1]


@pytest.mark.parametrize("kind", KINDS)
def test_an_ablation_of_a_quantised_layer_is_a_plain_hook(kind, tmp_path):
    model = quantised(tmp_path, kind)
    changed = model.passes.output([model.read(TEXT)], [[el.Ablate([(1, 2)])]]).logits

    def put(_module, given):
        entered = given[0].clone()
        entered[..., 32:48] = 0
        return (entered,)

    handle = model.hf.model.layers[1].self_attn.o_proj.register_forward_pre_hook(put)
    with torch.no_grad():
        plain = model.hf(**model.tokenizer(TEXT, return_tensors="pt")).logits
    handle.remove()
    assert torch.allclose(changed, plain, atol=1e-5)
    assert not torch.allclose(changed, model.passes.output([model.read(TEXT)]).logits, atol=1e-3)


@pytest.mark.parametrize("kind", ["bitsandbytes-4", "torchao-int8"])
def test_parts_and_gradients_of_weights_that_are_rounded_alone_are_those_of_the_rounded_weights(kind, tmp_path):
    """The model with the same rounded weights in plain layers."""
    model = quantised(tmp_path, kind)
    plain = t.LlamaForCausalLM.from_pretrained(tmp_path, dtype=torch.float32, attn_implementation="eager")
    for name, module in model.hf.named_modules():
        if "proj" in name.rpartition(".")[2]:
            with torch.no_grad():
                width = plain.get_submodule(name).in_features
                plain.get_submodule(name).weight.copy_(module(torch.eye(width)).T)
    expected = el.wrap(plain.eval(), tiny_tokenizer(), name="rounded")
    found = projections(model)["decoder", 1]
    assert found.key is not None
    assert np.abs(found.key.weight - projections(expected)["decoder", 1].key.weight).max() < 1e-5
    for method in ("norms", "alti", "logits", "gradient", "value-zeroing"):
        ours, theirs = (
            el.attribute(m, TEXT, method=method, answer=10 if method in ("logits", "gradient") else None) for m in (model, expected)
        )
        assert np.abs(ours.weights - theirs.weights).max() < 1e-3 * np.abs(theirs.weights).max(), method
    texts = ("the cat sat on the mat", "the dog sat on the mat")
    edges = [el.circuit(m, *texts, answer=10, against=11, positions=False).table("circuit") for m in (model, expected)]
    scores = [{(r["sender"], r["receiver"], r["reads"]): r["score"] for r in table.rows()} for table in edges]
    assert max(abs(scores[0][edge] - scores[1][edge]) for edge in scores[1]) < 1e-3


def test_layers_that_round_what_they_read_are_no_sum_of_parts(tmp_path):
    model = quantised(tmp_path, "bitsandbytes-8")
    with pytest.raises(ModelError, match="Linear8bitLt takes it, which is not linear"):
        el.attribute(model, TEXT, method="norms")
    assert projections(model)["decoder", 0].key is None


def test_layers_that_stop_gradients_are_named(tmp_path):
    class Stopping(torch.nn.Linear):
        def forward(self, vectors):
            return super().forward(vectors.detach()).detach()

    model = el.load(saved(tmp_path))
    old = model.hf.model.layers[0].self_attn.v_proj
    stopping = Stopping(old.in_features, old.out_features, bias=False)
    stopping.weight.data = old.weight.data
    model.hf.model.layers[0].self_attn.v_proj = stopping
    model.hf.is_quantized = True
    for measure in (
        lambda: el.attribute(model, TEXT, method="integrated-gradients"),
        lambda: el.attribute(model, TEXT, method="gradient"),
        lambda: el.circuit(model, "the cat sat", "the dog sat", answer=10, against=11),
    ):
        with pytest.raises(ModelError, match="Gradients do not pass through Stopping"):
            measure()


def test_four_bits_of_torchao():
    quantization = pytest.importorskip("torchao.quantization", reason="torchao is not installed: make test-adapters")
    torch.manual_seed(0)
    hf = t.LlamaForCausalLM(t.LlamaConfig(**SIZES)).eval()
    try:
        quantization.quantize_(hf, quantization.Int4WeightOnlyConfig(group_size=32, int4_packing_format="opaque"))
        hf(torch.tensor([[5, 6, 7]]))
    except Exception as error:  # noqa: BLE001 - which kernels a processor has differs; the reason is printed
        pytest.skip(f"torchao's int4 does not run on this processor: {type(error).__name__}: {str(error)[:150]}")
    model = el.wrap(hf, tiny_tokenizer(), name="int4")
    assert model.layout.recorded
    assert model.trace(TEXT).weights.sum(-1) == pytest.approx(1, abs=1e-4)
    assert model.identity() == model.identity()


# ---- Formats that are read and dequantised: the numbers of the file


#: The sixteen numbers of four bits, from OCP's specification of microscaling formats (E2M1).
FP4 = torch.tensor([0, 0.5, 1, 1.5, 2, 3, 4, 6, -0.0, -0.5, -1, -1.5, -2, -3, -4, -6])


def edit(folder: Path, tensors: Callable[[dict[str, torch.Tensor]], None], config: dict[str, Any]) -> None:
    """Replace the weights of a saved model, and say how they are quantised."""
    path = folder / "model.safetensors"
    held = load_file(path)
    tensors(held)
    save_file(held, path, {"format": "pt"})
    described = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps({**described, "quantization_config": config}))


def test_mxfp4_is_read_as_the_numbers_that_it_stands_for(tmp_path):
    """gpt-oss: blocks of 32 numbers of four bits, with a power of two for each."""
    torch.manual_seed(0)
    sizes = {**SIZES, "intermediate_size": 64}
    hf = t.GptOssForCausalLM(t.GptOssConfig(**sizes, num_local_experts=2, num_experts_per_tok=1, sliding_window=4, rope_parameters=ROPE))
    hf.save_pretrained(tmp_path)
    tiny_tokenizer().save_pretrained(tmp_path)
    name, expected = "model.layers.1.mlp.experts.down_proj", torch.empty(0)

    def pack(held: dict[str, torch.Tensor]) -> None:
        nonlocal expected
        for key in [key for key in held if key.endswith(("experts.down_proj", "experts.gate_up_proj"))]:
            experts, width, rows = held.pop(key).shape  # read [expert, in, out], stored [expert, out, block of in]
            blocks = torch.randint(256, (experts, rows, width // 32, 16), dtype=torch.uint8)
            scales = torch.randint(120, 126, (experts, rows, width // 32), dtype=torch.uint8)
            held |= {f"{key}_blocks": blocks, f"{key}_scales": scales}
            numbers = torch.stack([FP4[(blocks & 15).long()], FP4[(blocks >> 4).long()]], -1).flatten(-2)
            whole = (numbers * 2.0 ** (scales.float() - 127)[..., None]).flatten(-2).mT
            expected = whole if key == name else expected

    edit(
        tmp_path,
        pack,
        {"quant_method": "mxfp4", "modules_to_not_convert": ["model.layers.*.self_attn", "model.layers.*.mlp.router", "lm_head"]},
    )
    model = el.load(tmp_path)
    assert torch.equal(dict(model.hf.named_parameters())[name].float(), expected)
    assert model.layout.recorded
    assert model.trace(TEXT).weights.shape == (2, 4, 10, 10)
    assert el.load(tmp_path, dtype="auto").weights() != ""


def test_fp8_is_read_as_the_numbers_that_it_stands_for(tmp_path):
    saved(tmp_path)
    name, expected = "model.layers.0.self_attn.q_proj.weight", torch.empty(0)

    def pack(held: dict[str, torch.Tensor]) -> None:
        nonlocal expected
        for key in [key for key in held if "proj" in key]:
            weight, scale = held[key], torch.rand(*(-(-n // 32) for n in held[key].shape)) + 0.5
            by_number = scale.repeat_interleave(32, 0).repeat_interleave(32, 1)[: weight.shape[0], : weight.shape[1]]
            held[key] = (weight / by_number).to(torch.float8_e4m3fn)
            held[f"{key}_scale_inv"] = scale
            expected = held[key].float() * by_number if key == name else expected

    edit(tmp_path, pack, {"quant_method": "fp8", "weight_block_size": [32, 32], "activation_scheme": "dynamic"})
    model = el.load(tmp_path, quantization_config=t.FineGrainedFP8Config(weight_block_size=(32, 32), dequantize=True))
    assert torch.allclose(dict(model.hf.named_parameters())[name], expected, atol=1e-6)
    assert model.layout.recorded
    el.attribute(model, TEXT, method="norms")
