"""`el.watch`: what runs inside the block is recorded as it was computed, and nothing is left behind."""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import cache
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t
from transformers.cache_utils import DynamicCache, DynamicLayer

import eyeline as el
from eyeline.errors import EyelineError
from eyeline.models import watch as watch_module
from tests.models.families import GROUPED, TINY, tiny_tokenizer

IDS = torch.tensor([[4, 5, 6, 7, 8, 9, 10, 11, 12]])


def tiny(config: t.PreTrainedConfig, kind: Any = t.AutoModelForCausalLM) -> t.PreTrainedModel:
    torch.manual_seed(0)
    model = kind.from_config(config).eval()
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                parameter.mul_(4)
    if model.can_generate():
        model.generation_config.update(eos_token_id=None, pad_token_id=0, bos_token_id=1, decoder_start_token_id=1)
    return model


DECODERS: dict[str, Callable[[], t.PreTrainedConfig]] = {
    "llama": lambda: t.LlamaConfig(**TINY),
    "mistral, window of 5": lambda: t.MistralConfig(**GROUPED, sliding_window=5),
    "gemma3, window of 5 in two of three layers": lambda: t.Gemma3TextConfig(
        **GROUPED, sliding_window=5, layer_types=["sliding_attention", "full_attention", "sliding_attention"]
    ),
}


@cache
def llama() -> t.PreTrainedModel:
    return tiny(t.LlamaConfig(**TINY))


def t5() -> t.PreTrainedModel:
    config = t.T5Config(vocab_size=64, d_model=32, d_kv=8, d_ff=48, num_layers=2, num_heads=4, decoder_start_token_id=1)
    return tiny(config, t.AutoModelForSeq2SeqLM)


def state(hf: torch.nn.Module) -> list[Any]:
    """Everything of a model that watching could leave behind."""
    held: list[Any] = []
    for module in hf.modules():
        held += [len(module._forward_hooks), len(module._forward_pre_hooks), module.training]
        held += [(key, id(value)) for key, value in vars(module).items() if key not in ("_forward_hooks", "_forward_pre_hooks")]
        held += [value._attn_implementation for value in vars(module).values() if isinstance(value, t.PreTrainedConfig)]
    return held


@pytest.mark.parametrize("cache_kind", ["dynamic", "static"])
@pytest.mark.parametrize("family", list(DECODERS))
def test_the_steps_of_generate_are_what_the_model_reports(family: str, cache_kind: str) -> None:
    hf = tiny(DECODERS[family]())
    hf.set_attn_implementation("eager")
    how = {"cache_implementation": "static"} if cache_kind == "static" else {}
    with el.watch(hf, tiny_tokenizer()) as seen:
        out = hf.generate(IDS, max_new_tokens=6, do_sample=False, output_attentions=True, return_dict_in_generate=True, **how)
    assert (seen.n_passes, seen.left_out) == (6, [])
    for step, trace in enumerate(seen):
        end = IDS.shape[1] + step
        assert trace.decoder.key_text.ids == tuple(out.sequences[0, :end].tolist())
        assert trace.text.ids == (tuple(IDS[0].tolist()) if step == 0 else (out.sequences[0, end - 1].item(),))
        for layer, reported in enumerate(out.attentions[step]):
            rows = reported[0].float().numpy()  # [head, query, key of the cache]
            placed = np.zeros((*rows.shape[:2], end), np.float32)
            kept = min(end, rows.shape[2])
            placed[..., end - kept :] = rows[..., :end] if rows.shape[2] >= end else rows
            np.testing.assert_array_equal(trace.decoder.weights_by_layer[layer], placed)


def test_watching_changes_no_output() -> None:
    hf = llama()
    plain = hf(IDS).logits
    with el.watch(hf):
        watched = hf(IDS).logits
    torch.testing.assert_close(watched, plain, rtol=0, atol=1e-5)


def test_texts_of_a_padded_batch_are_those_of_the_texts_alone() -> None:
    hf, tokenizer = llama(), tiny_tokenizer()
    tokenizer.padding_side = "left"
    batch = tokenizer(["the cat sat on the mat", "it ran"], return_tensors="pt", padding=True)
    batch.pop("token_type_ids", None)
    with el.watch(hf, tokenizer) as seen:
        hf.generate(**batch, max_new_tokens=3, do_sample=False)
    assert len(seen) == 6
    for text in (0, 1):
        alone = {name: tensor[text : text + 1][:, batch["attention_mask"][text] == 1] for name, tensor in batch.items()}
        with el.watch(hf, tokenizer) as seen_alone:
            hf.generate(**alone, max_new_tokens=3, do_sample=False)
        for step in range(3):
            ours, theirs = seen[2 * step + text], seen_alone[step]
            assert ours.decoder.key_text.tokens == theirs.decoder.key_text.tokens
            np.testing.assert_allclose(ours.weights, theirs.weights, atol=1e-6)


def test_rows_that_beams_reorder_keep_their_own_tokens() -> None:
    """A row's weights are those of a pass over the tokens that its trace names: wrong names would give other weights."""
    hf, tokenizer = llama(), tiny_tokenizer()
    with el.watch(hf, tokenizer, last=1000) as seen:
        hf.generate(IDS, max_new_tokens=6, num_beams=4, do_sample=False)
    later = [trace for trace in seen if len(trace.text) == 1]
    assert len(later) >= 16
    whole = el.wrap(tiny(t.LlamaConfig(**TINY)), tokenizer)
    for trace in later:
        ids = trace.decoder.key_text.ids
        expected = whole.trace_inputs({"input_ids": torch.tensor([ids])}).weights[:, :, -1]
        np.testing.assert_allclose(trace.weights[:, :, 0], expected, atol=1e-5)
    assert len({trace.decoder.key_text.ids[IDS.shape[1] :] for trace in later if len(trace.decoder.key_text) == 13}) > 1


class RoundedLayer(DynamicLayer):
    """Keys of earlier passes are rounded, as a quantised cache rounds them; how coarsely is the test's choice."""

    steps = 4.0

    def update(self, key_states: torch.Tensor, value_states: torch.Tensor, *args: Any, **kwargs: Any) -> Any:
        if self.is_initialized and self.keys.numel():
            self.keys = (self.keys * self.steps).round() / self.steps
        return super().update(key_states, value_states, *args, **kwargs)


@pytest.mark.parametrize("steps", [4.0, 64.0])
def test_beams_on_a_cache_that_rounds_its_keys_keep_their_own_tokens(monkeypatch: pytest.MonkeyPatch, steps: float) -> None:
    """With weights of the same numbers: those that the model reports itself for each beam, in the order of its beams."""
    monkeypatch.setattr(RoundedLayer, "steps", steps)
    hf, tokenizer = llama(), tiny_tokenizer()
    n_layers = hf.config.num_hidden_layers
    reordered: list[list[int]] = []
    cache = DynamicCache()
    cache.layers = [RoundedLayer() for _ in range(n_layers)]
    original = type(cache).reorder_cache

    def noted(self: Any, beams: torch.Tensor) -> None:
        reordered.append(beams.tolist())
        original(self, beams)

    monkeypatch.setattr(type(cache), "reorder_cache", noted)
    with el.watch(hf, tokenizer, last=1000) as outer, el.watch(hf, tokenizer, last=1000) as seen:
        hf.generate(IDS, max_new_tokens=6, num_beams=4, do_sample=False, past_key_values=cache)
    assert any(beams != sorted(beams) for beams in reordered), "no beam changed its place: the test would show nothing"
    assert not set(vars(cache)) & set(watch_module.REORDERING)
    first, *later = [list(seen)[i : i + 4] for i in range(0, len(seen), 4)]
    rows = [list(trace.decoder.key_text.ids) for trace in first]
    for order, traces in zip(reordered, later, strict=False):
        rows = [rows[row] for row in order]
        for row, trace in zip(rows, traces, strict=True):
            assert list(trace.decoder.key_text.ids[:-1]) == row
            assert not trace.notices
        rows = [list(trace.decoder.key_text.ids) for trace in traces]
    assert len({tuple(row) for row in rows}) > 1
    assert [trace.decoder.key_text.ids for trace in outer] == [trace.decoder.key_text.ids for trace in seen]


def test_rows_of_a_cache_whose_keys_are_others_are_not_named() -> None:
    hf, tokenizer = llama(), tiny_tokenizer()
    with el.watch(hf, tokenizer) as seen:
        cache = hf(IDS, use_cache=True).past_key_values
        for layer in cache.layers:
            layer.keys = torch.randn_like(layer.keys) * layer.keys.std()
        hf(IDS[:, :1], past_key_values=cache)
    assert [notice.key for notice in seen[-1].notices] == ["notice.watch.unknown_tokens"]


@pytest.mark.parametrize("beams", [1, 3])
def test_an_encoder_that_generate_runs_by_itself_and_its_decoder_are_recorded(beams: int) -> None:
    hf = t5()
    hf.set_attn_implementation("eager")
    options = {"num_beams": beams, "do_sample": False, "max_new_tokens": 4}
    with el.watch(hf, tiny_tokenizer(), last=100) as seen:
        out = hf.generate(IDS, **options, output_attentions=True, return_dict_in_generate=True)
    encoder, *steps = seen
    assert set(encoder.stacks) == {"encoder"}
    assert encoder.encoder.query_text.ids == tuple(IDS[0].tolist())
    for layer, reported in enumerate(out.encoder_attentions):
        np.testing.assert_array_equal(encoder.encoder.weights_by_layer[layer], reported[0].numpy())
    assert {frozenset(step.stacks) for step in steps} == {frozenset({"decoder", "cross"})}
    for number, step in enumerate(steps):
        written, beam = divmod(number, beams)
        assert step.cross.key_text.ids == encoder.encoder.key_text.ids
        assert len(step.decoder.key_text) == written + 1
        for layer, reported in enumerate(out.cross_attentions[written]):
            np.testing.assert_array_equal(step.cross.weights_by_layer[layer], reported[beam].numpy())


def test_a_pipeline_is_recorded() -> None:
    bert, tokenizer = tiny(t.BertConfig(**TINY), t.AutoModelForSequenceClassification), tiny_tokenizer()
    classify = t.pipeline("text-classification", model=bert, tokenizer=tokenizer)
    with el.watch(bert, tokenizer) as seen:
        classify("the cat sat")
    np.testing.assert_allclose(seen[0].weights, el.wrap(bert, tokenizer).trace("the cat sat").weights, atol=1e-6)
    assert seen[0].text.tokens[1:4] == ("the", "cat", "sat")


@pytest.mark.parametrize("ends", ["well", "with an error outside", "with an error in the model"])
def test_nothing_is_left_in_the_model(ends: str) -> None:
    hf = tiny(t.LlamaConfig(**TINY))
    before = state(hf)
    try:
        with el.watch(hf) as seen:
            hf(IDS)
            if ends == "with an error outside":
                raise RuntimeError(ends)
            if ends == "with an error in the model":
                hf(torch.tensor([[10**6]]))
    except (RuntimeError, IndexError):
        assert ends != "well"
    assert state(hf) == before
    assert len(seen) == 1
    hf(IDS)
    assert len(seen) == 1


def test_a_failed_pass_does_not_disturb_the_next() -> None:
    hf = llama()
    with el.watch(hf) as seen:
        with pytest.raises(IndexError):
            hf(torch.tensor([[10**6]]))
        hf(IDS)
    assert len(seen) == 1


def test_what_the_user_changes_in_the_configuration_stays_changed() -> None:
    hf = tiny(t.LlamaConfig(**TINY))
    config = hf.config
    with el.watch(hf):
        hf.config.problem_type = "mine"
    assert hf.config is config
    assert config.problem_type == "mine"


def test_blocks_within_blocks_and_passes_of_eyeline_within_them_see_the_same() -> None:
    hf, tokenizer = tiny(t.LlamaConfig(**TINY)), tiny_tokenizer()
    before = state(hf)
    with el.watch(hf, tokenizer) as outer:
        hf(IDS)
        with el.watch(hf, tokenizer) as inner:
            hf(IDS)
        hf(IDS)
    assert state(hf) == before
    assert (len(outer), len(inner)) == (3, 1)
    np.testing.assert_array_equal(outer[1].weights, inner[0].weights)
    model = el.wrap(hf, tokenizer)
    with el.watch(model) as seen:
        trace = model.trace("the cat sat")
    np.testing.assert_array_equal(seen[0].weights, trace.weights)
    assert not trace.notices


def test_threads_that_run_one_model_are_told_apart() -> None:
    hf, tokenizer = llama(), tiny_tokenizer()
    texts = [torch.randint(4, 40, (1, 5 + n)) for n in range(4)]
    with el.watch(hf, tokenizer, last=100) as seen:
        threads = [threading.Thread(target=lambda ids=ids: [hf(ids) for _ in range(5)]) for ids in texts]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    assert len(seen) == 20
    model = el.wrap(tiny(t.LlamaConfig(**TINY)), tokenizer)
    expected = {tuple(ids[0].tolist()): model.trace_inputs({"input_ids": ids}).weights for ids in texts}
    for trace in seen:
        np.testing.assert_allclose(trace.weights, expected[trace.text.ids], atol=1e-6)


def test_a_training_step_is_recorded_and_its_dropout_is_said() -> None:
    hf = tiny(t.LlamaConfig(**TINY, attention_dropout=0.5)).train()
    with el.watch(hf) as seen:
        hf(IDS, labels=IDS).loss.backward()
    assert hf.training
    assert any(parameter.grad is not None and parameter.grad.abs().sum() > 0 for parameter in hf.parameters())
    assert any("dropout" in notice for notice in seen[0].notices)


def test_memory_is_bounded_and_a_function_may_take_each_trace() -> None:
    hf = llama()
    with el.watch(hf, last=2) as seen:
        for _ in range(5):
            hf(IDS)
    assert (len(seen), seen.n_passes) == (2, 5)
    taken: list[el.Trace] = []
    with el.watch(hf, receive=taken.append) as seen:
        hf(IDS)
    assert (len(taken), len(seen)) == (1, 0)


def test_what_is_kept_can_be_chosen_and_is_not_the_memory_of_the_cache() -> None:
    hf, tokenizer = llama(), tiny_tokenizer()
    with el.watch(hf, tokenizer, layers=[1], keep={"weights", "queries", "keys", "values"}, last=10) as seen:
        hf.generate(IDS, max_new_tokens=3, do_sample=False, cache_implementation="static")
    first, *_, last = seen
    assert first.layers == (1,)
    assert last.keys.shape[2] == 11
    np.testing.assert_array_equal(first.keys[0], last.keys[0][:, :9])


def test_traces_of_steps_are_saved_and_drawn(tmp_path: Any) -> None:
    hf, tokenizer = llama(), tiny_tokenizer()
    with el.watch(hf, tokenizer) as seen:
        hf.generate(IDS, max_new_tokens=3, do_sample=False)
    again = el.open(seen[-1].save(tmp_path / "step.safetensors"))
    np.testing.assert_array_equal(again.weights, seen[-1].weights)
    el.head_view(again).save(tmp_path / "step.html")
    el.head_view(again).save(tmp_path / "step.svg")
    assert (tmp_path / "step.html").stat().st_size > 10_000
    assert again.text.tokens[-1] in (tmp_path / "step.svg").read_text(encoding="utf-8")


def test_models_whose_calls_cannot_be_recorded_are_refused() -> None:
    outside = tiny(t.MPNetConfig(**TINY), t.AutoModel)
    with pytest.raises(EyelineError, match="cannot be watched"), el.watch(outside):
        pass
    with pytest.raises(EyelineError, match="where a model was expected"), el.watch("gpt2"):  # type: ignore[arg-type]
        pass
    with pytest.raises(EyelineError, match="last=0"), el.watch(llama(), last=0):
        pass


def test_a_pass_without_recorded_calls_is_left_out_and_said() -> None:
    hf = tiny(t.LlamaConfig(**TINY))
    with el.watch(hf) as seen:
        hf.set_attn_implementation("sdpa")
        hf(IDS)
    assert len(seen) == 0
    assert "no attention call" in seen.left_out[0]
