"""What of a pass a trace keeps: chosen heads and queries, and 16 bits where the model computes in them."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import transformers as t
from safetensors import safe_open
from safetensors.numpy import save_file

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look import stack as stack_module
from eyeline.look.stack import HalfLayers, single_precision
from eyeline.models import inputs
from eyeline.models import layout as layout_module
from eyeline.models.attention import AttentionCall
from eyeline.storage import sealed
from tests.models.families import BY_NAME, GROUPED, tiny_tokenizer

TEXT = "the cat sat on the mat and the dog ran a very long way home ."
HALVES = [torch.bfloat16, torch.float16]


@cache
def llama(dtype: torch.dtype = torch.float32) -> el.Model:
    """Four heads in two groups."""
    torch.manual_seed(0)
    hf = t.LlamaForCausalLM(t.LlamaConfig(**GROUPED, initializer_range=0.4)).to(dtype).eval()
    return el.wrap(hf, tiny_tokenizer(), name="llama")


def bits_of(tensor: torch.Tensor) -> np.ndarray:
    return tensor.view(torch.int16).numpy().view(np.uint16)


# ---- 16 bits


def test_the_bits_of_bfloat16_are_read_as_torch_reads_them():
    bits = np.arange(2**16, dtype=np.uint16)
    expected = torch.from_numpy(bits.view(np.int16)).view(torch.bfloat16).float().numpy()
    np.testing.assert_array_equal(single_precision(bits), expected)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_model_in_half_precision_gives_traces_in_16_bits(dtype):
    """Queries, keys and values lose nothing; the weights of bfloat16 at most what float16 cannot hold of the smallest ones."""
    whole, half = (llama(dtype).trace(TEXT, precision=precision) for precision in ("float32", "auto"))
    assert [whole.only.weights_by_layer[0].dtype, "rounded" in whole.about] == [np.float32, False]
    for what in ("weights", "queries", "keys", "values"):
        layers = getattr(half.only, f"{what}_by_layer")
        assert isinstance(layers, HalfLayers)
        kept_in = "float16" if what == "weights" or dtype == torch.float16 else "bfloat16"
        assert (layers.precision, layers.kept[0].itemsize) == (kept_in, 2)
        for kept, exact in zip(layers, getattr(whole.only, f"{what}_by_layer"), strict=True):
            assert kept.dtype == np.float32
            assert np.abs(kept - exact).max() <= (2**-25 if what == "weights" and dtype == torch.bfloat16 else 0)
    differences = np.abs(half.weights - whole.weights)
    assert half.about["rounded"] == differences.max()
    assert half.weights.dtype == np.float32


def test_the_weights_of_a_model_in_single_precision_are_kept_in_16_bits_where_a_user_asks(tmp_path):
    exact, rounded = llama().trace(TEXT), llama().trace(TEXT, precision="float16")
    assert isinstance(exact.only.weights_by_layer, tuple)
    assert rounded.only.weights_by_layer.kept[0].dtype == np.float16
    assert 0 < rounded.about["rounded"] == np.abs(exact.weights - rounded.weights).max() < 2**-11
    np.testing.assert_array_equal(rounded.weights, exact.weights.astype(np.float16).astype(np.float32))
    np.testing.assert_array_equal(rounded.queries, exact.queries)
    smaller, larger = (trace.save(tmp_path / f"{name}.safetensors").stat().st_size for name, trace in (("16", rounded), ("32", exact)))
    assert larger - smaller > 0.45 * exact.weights.nbytes


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_saved_trace_stays_in_16_bits(tmp_path, dtype):
    trace = llama(dtype).trace(TEXT, rows=[3, -1], heads=[0, 3])
    path = trace.save(tmp_path / "half.safetensors")
    opened = el.open(path)
    assert (opened.only.heads, opened.only.rows) == ((0, 3), (3, len(opened.only.key_text) - 1))
    for what in ("weights", "queries", "keys", "values"):
        before, after = (getattr(each.only, f"{what}_by_layer") for each in (trace, opened))
        assert before.precision == after.precision
        for one, other in zip(before.kept, after.kept, strict=True):
            np.testing.assert_array_equal(one, other)
    assert opened.about["rounded"] == trace.about["rounded"]


def test_a_trace_of_before_still_opens(tmp_path, monkeypatch):
    """A file of format 2 has no heads, rows or halves in its header."""
    trace = llama().trace(TEXT)
    path = trace.save(tmp_path / "now.safetensors")
    with safe_open(path, framework="numpy") as file:
        header = json.loads(file.metadata()[sealed.HEADER])
        arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    header["format"] = 2
    for stack in header["stacks"].values():
        for name in ("heads", "rows", "halves"):
            del stack[name]
    text = json.dumps(header)
    old = tmp_path / "before.safetensors"
    save_file(arrays, old, metadata={sealed.HEADER: text, sealed.HEADER_CRC: str(sealed.zlib.crc32(text.encode()))})
    np.testing.assert_array_equal(el.open(old).weights, trace.weights)
    assert repr(el.open(old)) == repr(trace)


def test_one_layer_is_raised_at_a_time_and_all_of_them_only_where_they_fit(monkeypatch):
    trace = llama(torch.bfloat16).trace(TEXT)
    need = 2 * sum(array.nbytes for array in trace.only.weights_by_layer.kept)
    monkeypatch.setattr(stack_module, "free_memory", lambda: need - 1)
    with pytest.raises(TraceError, match=r"weights_by_layer\[0\]"):
        _ = trace.weights
    assert trace.only.weights_by_layer[0].dtype == np.float32
    for view in (el.head_view(trace), el.model_view(trace), el.neuron_view(trace)):
        assert view.html()
    monkeypatch.setattr(stack_module, "free_memory", lambda: need)
    assert trace.weights.dtype == np.float32


def test_views_of_16_bits_are_those_of_the_numbers_that_they_hold():
    trace = llama(torch.bfloat16).trace(TEXT)
    stack = trace.only
    raised = {f"{what}_by_layer": tuple(getattr(stack, f"{what}_by_layer")) for what in ("weights", "queries", "keys", "values")}
    plain = replace(trace, stacks={stack.name: replace(stack, **raised)})
    for view in (el.head_view, el.model_view, el.neuron_view):
        assert view(trace).html() == view(plain).html()
    np.testing.assert_array_equal(trace.outputs, plain.outputs)
    np.testing.assert_array_equal(stack.output_of(1, 3), plain.only.output_of(1, 3))
    np.testing.assert_array_equal(trace.words().weights, plain.words().weights)


# ---- Heads and queries


@pytest.mark.parametrize("dtype", [torch.float32, *HALVES], ids=str)
@pytest.mark.parametrize("at_once", [4, 512])
def test_chosen_heads_and_queries_are_those_of_the_whole_trace(monkeypatch, dtype, at_once):
    """Also where maps come some queries at a time, as those of a long text do."""
    monkeypatch.setattr(layout_module, "QUERIES_AT_ONCE", at_once)
    whole, heads, rows = llama(dtype).trace(TEXT).only, [1, 3], [0, 5, -1]
    few = llama(dtype).trace(TEXT, heads=heads, rows=rows, layers=[0, 2])
    stack, at = few.only, [0, 5, len(whole.key_text) - 1]
    assert (stack.heads, stack.rows, stack.n_heads, stack.layers) == ((1, 3), tuple(at), 2, (0, 2))
    assert stack.query_text.tokens == tuple(whole.query_text.tokens[i] for i in at)
    exactly = {"rtol": 0, "atol": 2e-6 if dtype == torch.float32 else 2e-3}
    for index, layer in enumerate(stack.layers):
        np.testing.assert_allclose(stack.weights_by_layer[index], whole.weights_by_layer[layer][heads][:, at], **exactly)
        np.testing.assert_allclose(stack.queries_by_layer[index], whole.queries_by_layer[layer][heads][:, at], atol=0.05, rtol=0.05)
        np.testing.assert_allclose(stack.keys_by_layer[index], whole.keys_by_layer[layer][[0, 1]], atol=0.05, rtol=0.05)
        np.testing.assert_array_equal(stack.mask_by_layer[index], whole.mask_by_layer[layer][at])
    scores = np.einsum("hqd,hkd->hqk", stack.queries_by_layer[0], stack.keys_by_layer[0]) * stack.scales[0]
    scores = np.where(stack.mask_by_layer[0], scores, -np.inf)
    again = np.exp(scores - scores.max(-1, keepdims=True))
    np.testing.assert_allclose(
        again / again.sum(-1, keepdims=True), stack.weights_by_layer[0], atol=5e-3 if dtype != torch.float32 else 1e-5
    )


def test_a_long_text_has_no_map_of_all_queries_where_queries_are_chosen(monkeypatch):
    shapes = []
    call = AttentionCall.own

    def counted(self):
        output, weights = call(self)
        shapes.append(weights.shape[2])
        return output, weights

    monkeypatch.setattr(layout_module, "QUERIES_AT_ONCE", 4)
    model = llama()
    n = len(model.trace(TEXT).text)
    monkeypatch.setattr(AttentionCall, "own", counted)
    model.trace(TEXT, rows=[-1])
    assert sum(shapes) == 3 * n
    assert max(shapes) == 4


@pytest.mark.parametrize("family", ["bert", "t5", "mpnet", "gpt2"])
def test_heads_can_be_chosen_in_every_kind_of_model(family):
    model = el.wrap(BY_NAME[family].model(), tiny_tokenizer(), name=family)
    whole, few = model.trace(TEXT, TEXT), model.trace(TEXT, TEXT, heads=[2])
    for name, stack in few.stacks.items():
        np.testing.assert_array_equal(stack.weights, whole.stacks[name].weights[:, [2]])
        if stack.bias_by_layer and stack.bias_by_layer[0] is not None:
            np.testing.assert_array_equal(stack.bias_by_layer[0], whole.stacks[name].bias_by_layer[0][[2]])
        assert el.head_view(few, stack=name, layer=0, heads=[2]).spec["stacks"][0]["layers"][0]["heads"] == [2]


def test_texts_of_a_batch_have_their_own_last_query():
    texts = ["the cat sat", TEXT, "the dog ran home"]
    for one, trace in zip(texts, llama().traces(texts, rows=[-1]), strict=True):
        np.testing.assert_allclose(trace.weights, llama().trace(one).weights[:, :, -1:], atol=2e-6)


def test_what_the_model_does_not_have_is_refused_by_name():
    model = llama()
    for given, says in (
        ({"heads": [4]}, "which has 4"),
        ({"heads": [-1]}, "count from 0"),
        ({"heads": "3"}, "list of head numbers"),
        ({"rows": [99]}, "Row 99 of a text with 1"),
        ({"rows": []}, "no query"),
        ({"precision": "float8"}, "auto, float16, float32"),
    ):
        with pytest.raises(TraceError, match=says):
            model.trace(TEXT, **given)
    with pytest.raises(TraceError, match="kinds of attention"):
        el.wrap(BY_NAME["t5"].model(), tiny_tokenizer(), name="t5").trace(TEXT, TEXT, rows=[0])


def test_what_needs_all_heads_or_queries_says_so():
    model, few = llama(), llama().trace(TEXT, heads=[1, 3], rows=[0, -1])
    with pytest.raises(TraceError, match="named wrongly"):
        el.head_view(few, model=model)
    with pytest.raises(TraceError, match="not known"):
        model.predict(TEXT, interventions=el.Patch(few, [(0, 1)], positions=[0]))
    with pytest.raises(TraceError, match="holds 1, 3"):
        el.head_view(few, layer=0, heads=[0])
    with pytest.raises(TraceError, match="heads 1, 3"):
        llama().trace(TEXT, heads=[1, 3]).only.output_of(0, 2)
    assert model.predict_again(few).choices == model.predict(TEXT).choices
    head = llama().trace(TEXT, heads=[1, 3]).only.output_of(2, 3)
    np.testing.assert_allclose(head, llama().trace(TEXT).only.output_of(2, 3), atol=1e-6)


def test_pictures_name_the_heads_by_their_numbers(tmp_path):
    trace = llama().trace(TEXT, heads=[1, 3], rows=[4, 9])
    for view in (el.head_view(trace, layer=1, heads=[3]), el.neuron_view(trace, layer=1, head=3)):
        picture = view.save(tmp_path / "x.svg") or (tmp_path / "x.svg").read_text()
        assert "L1·H3" in picture
        assert "L1·H1" not in picture
    el.model_view(trace).save(tmp_path / "x.svg")
    assert ">H3<" in (tmp_path / "x.svg").read_text()


def test_the_error_about_memory_names_the_ways_out_and_counts_what_is_kept(monkeypatch):
    model = llama(torch.bfloat16)
    n = len(model.trace(TEXT).text)
    per_map = 4 * n * n  # numbers of one layer
    monkeypatch.setattr(inputs, "free_memory", lambda: per_map * (3 * 2 + 3 * 4))
    model.trace(TEXT)  # three maps in 16 bits, and three while a layer is computed
    with pytest.raises(TraceError, match=r"(?s)layers=.*heads=.*rows=.*precision='float16'"):
        model.trace(TEXT, precision="float32")
    monkeypatch.setattr(inputs, "free_memory", lambda: per_map * (3 * 2 + 3 * 4) - 1)
    with pytest.raises(TraceError, match="GB are free"):
        model.trace(TEXT)
    model.trace(TEXT, heads=[0])
    model.trace(TEXT, layers=[0])
    model.trace(TEXT, rows=[0])
