"""Our adapters beside the real libraries: the same model, the same text, the same numbers. `make test-adapters` installs them."""

from __future__ import annotations

import importlib.util
import inspect
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from tests.models.families import GPT, GROUPED, tiny_tokenizer

pytestmark = pytest.mark.slow
TEXT = "the cat sat on the mat ."


def library(name: str, package: str) -> Any:
    return pytest.importorskip(name, reason=f"{package} is not installed (make test-adapters)", exc_type=ImportError)


def saved_model(folder: Path, hf: Any) -> Path:
    """The model and its tokeniser as a folder; large weights, so that attention is not uniform."""
    torch.manual_seed(0)
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.ndim > 1:
                parameter.normal_(std=0.3)
    hf.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.mark.parametrize("family", ["gpt2", "llama", "bert"])
def test_a_cache_of_transformer_lens_is_the_trace_that_we_record(family, tmp_path):
    bridge = library("transformer_lens.model_bridge", "transformer-lens")
    hf = {
        "gpt2": lambda: t.GPT2LMHeadModel(t.GPT2Config(**GPT)),
        "llama": lambda: t.LlamaForCausalLM(t.LlamaConfig(**GROUPED)),
        "bert": lambda: t.BertForMaskedLM(
            t.BertConfig(hidden_size=32, num_hidden_layers=2, num_attention_heads=4, intermediate_size=32, vocab_size=64)
        ),
    }[family]()
    folder = saved_model(tmp_path / "tiny", hf)
    model, lens = el.load(folder, device="cpu"), bridge.TransformerBridge.boot_transformers(str(folder), device="cpu")
    own = model.trace(TEXT, keep=("weights", "queries", "keys", "values"))
    with torch.no_grad():
        _, cache = lens.run_with_cache(torch.tensor([own.text.ids]))
    trace = el.Trace.from_transformer_lens(cache)
    assert list(trace.stacks) == list(own.stacks)
    assert trace.text.tokens == own.text.tokens
    for what in ("weights", "queries", "keys", "values"):
        np.testing.assert_allclose(getattr(trace, what), getattr(own, what), atol=1e-4, err_msg=what)
    assert trace.scales == pytest.approx(own.scales)
    el.neuron_view(trace)


def test_a_cache_of_an_encoder_and_a_decoder_has_three_stacks(tmp_path):
    bridge = library("transformer_lens.model_bridge", "transformer-lens")
    config = t.T5Config(
        d_model=32, d_kv=8, num_layers=2, num_heads=4, d_ff=32, vocab_size=64, decoder_start_token_id=0, pad_token_id=0, eos_token_id=2
    )
    folder = saved_model(tmp_path / "tiny", t.T5ForConditionalGeneration(config))
    lens = bridge.TransformerBridge.boot_transformers(str(folder), device="cpu")
    source, target = torch.tensor([[4, 5, 6, 7]]), torch.tensor([[0, 4, 5]])
    with torch.no_grad():
        _, cache = lens.run_with_cache(source, decoder_input=target)
    trace = el.Trace.from_transformer_lens(cache, ["a", "b", "c", "d"], decoder_tokens=["<pad>", "a", "b"])
    hf = t.T5ForConditionalGeneration.from_pretrained(folder, attn_implementation="eager").eval()
    outputs = hf(input_ids=source, decoder_input_ids=target, output_attentions=True)
    own = el.Trace.from_transformers(outputs, ["a", "b", "c", "d"], decoder_tokens=["<pad>", "a", "b"])
    for name, stack in own.stacks.items():
        np.testing.assert_allclose(trace.stacks[name].weights, stack.weights, atol=1e-4, err_msg=name)


def test_weights_saved_in_nnsight_are_the_trace_that_we_record(tmp_path):
    nnsight = library("nnsight", "nnsight")
    folder = saved_model(tmp_path / "tiny", t.GPT2LMHeadModel(t.GPT2Config(**GPT)))
    own = el.load(folder, device="cpu").trace(TEXT)
    model = nnsight.LanguageModel(str(folder), attn_implementation="eager", device_map="cpu", dispatch=True)
    with model.trace(TEXT):
        weights = nnsight.save([layer.attn.output[1] for layer in model.transformer.h])
    with model.trace(TEXT):
        modules = nnsight.save([layer.attn.output for layer in model.transformer.h])
    with model.trace(TEXT, output_attentions=True):
        output = nnsight.save(model.output)
    for saved in (weights, modules, output):
        trace = el.Trace.from_nnsight(saved, own.text.tokens)
        assert list(trace.stacks) == ["decoder"]
        np.testing.assert_allclose(trace.weights, own.weights, atol=1e-5)


@pytest.mark.parametrize("function", ["head_view", "model_view"])
def test_bertviz_takes_the_same_arguments(function):
    import eyeline.bertviz as ours

    theirs = library("bertviz", "bertviz")
    assert [*inspect.signature(getattr(ours, function)).parameters.values()] == _plain(getattr(theirs, function), getattr(ours, function))


def test_bertviz_neuron_view_takes_the_same_arguments():
    from eyeline.bertviz.neuron_view import show

    library("bertviz", "bertviz")
    theirs = library("bertviz.neuron_view", "bertviz")
    names = list(inspect.signature(theirs.show).parameters)
    assert list(inspect.signature(show).parameters) == names


def _plain(theirs: Any, ours: Any) -> list[inspect.Parameter]:
    """Their parameters with our annotations: names, order and defaults are what is compared."""
    annotations = {name: parameter.annotation for name, parameter in inspect.signature(ours).parameters.items()}
    parameters = inspect.signature(theirs).parameters
    return [parameter.replace(annotation=annotations.get(name)) for name, parameter in parameters.items()]


def test_circuitsvis_takes_the_same_arguments_and_the_same_arrays():
    import eyeline.circuitsvis as ours

    theirs = library("circuitsvis.attention", "circuitsvis")
    weights = torch.full((2, 3, 3), 1 / 3)
    assert "AttentionPatterns" in theirs.attention_patterns(tokens=["a", "b", "c"], attention=weights).cdn_src
    assert ours.attention.attention_patterns(tokens=["a", "b", "c"], attention=weights).kind == "model"
    for name in ("attention_patterns", "attention_heads", "attention_pattern"):
        positional = [p.name for p in inspect.signature(getattr(ours.attention, name)).parameters.values() if p.kind != p.KEYWORD_ONLY]
        assert list(inspect.signature(getattr(theirs, name)).parameters)[: len(positional)] == positional


READ = """
import json, sys
import numpy as np
import {module} as numbers
import eyeline as el
weights = np.random.default_rng(0).dirichlet(np.ones(3), size=(2, 4, 3))  # [layer, head, query, key]
for kind, near in (("float32", 1e-6), ("bfloat16", 4e-3)):
    make = lambda array: numbers.{make}(array, getattr(numbers, kind))
    for given in (make(weights), [make(layer[None]) for layer in weights]):
        trace = el.Trace.from_arrays(given, ["a", "b", "c"])
        np.testing.assert_allclose(trace.weights, weights, atol=near)
        assert trace.weights.dtype == np.float32
print("torch" in sys.modules)
"""


@pytest.mark.parametrize(("module", "make", "package"), [("jax.numpy", "asarray", "jax"), ("tensorflow", "cast", "tensorflow-cpu")])
def test_arrays_of_other_libraries_are_read_without_torch(module, make, package):
    """In a process of its own: nnsight gives every object a `save`, which TensorFlow does not survive."""
    if importlib.util.find_spec(module.partition(".")[0]) is None:
        pytest.skip(f"{package} is not installed (make test-adapters)")
    code = READ.format(module=module, make=make)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "False"
