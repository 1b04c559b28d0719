"""`model.generate` and `model.replay`: the rows of what was written are those of the steps in which it was written."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError, TextError, TraceError
from eyeline.look.generation import Generation, heads_that_changed
from eyeline.look.sources import first_key
from eyeline.models.generate import what_to_keep
from eyeline.models.inputs import Example
from eyeline.text.source import as_source
from tests.models.families import BY_NAME, GROUPED, ROPE, TINY, WORDS, tiny_tokenizer
from tests.models.test_watch import state, t5, tiny
from tests.text.sample_tokenisers import byte_level

PROMPT = "the cat sat on the mat and it ran home"  # 12 tokens with [CLS] and [SEP]

FAMILIES: dict[str, Callable[[], t.PreTrainedConfig]] = {
    "llama": lambda: t.LlamaConfig(**TINY),
    "qwen3": lambda: t.Qwen3Config(**GROUPED),
    "mistral, window of 5": lambda: t.MistralConfig(**GROUPED, sliding_window=5),
    "gemma3, window of 5 in every other layer": lambda: t.Gemma3TextConfig(
        **GROUPED, sliding_window=5, layer_types=["sliding_attention", "full_attention", "sliding_attention"]
    ),
    "gpt-oss, window of 5 in every other layer, sinks": lambda: t.GptOssConfig(
        **GROUPED, num_local_experts=4, num_experts_per_tok=2, sliding_window=5, rope_parameters=ROPE
    ),
    "llama4, chunks of 8": lambda: t.Llama4TextConfig(
        **GROUPED,
        intermediate_size_mlp=32,
        num_local_experts=2,
        attention_chunk_size=8,
        interleave_moe_layer_step=1,
        no_rope_layers=[1, 0, 1],
        layer_types=["chunked_attention", "full_attention", "chunked_attention"],
    ),
    "qwen3-next, softmax attention in one of three layers": lambda: t.Qwen3NextConfig(
        **GROUPED,
        linear_num_key_heads=2,
        linear_num_value_heads=2,
        linear_key_head_dim=8,
        linear_value_head_dim=8,
        num_experts=4,
        num_experts_per_tok=2,
        moe_intermediate_size=16,
        shared_expert_intermediate_size=16,
        layer_types=["linear_attention", "full_attention", "linear_attention"],
    ),
    "deepseek-v3, latent keys": BY_NAME["deepseek-v3"].config,
}


@cache
def opened(family: str) -> el.Model:
    return el.wrap(tiny(FAMILIES[family]()), tiny_tokenizer())


def steps_of(hf: t.PreTrainedModel, prompt: list[int], n: int, **options: Any) -> tuple[list[int], list[np.ndarray]]:
    """What transformers' own `generate` writes and reports: the ids, and [head, written, key] of each layer that has maps."""
    hf.set_attn_implementation("eager")
    out = hf.generate(
        torch.tensor([prompt]), max_new_tokens=n, do_sample=False, output_attentions=True, return_dict_in_generate=True, **options
    )
    by_layer = []
    for layer in range(len(out.attentions[0])):
        if out.attentions[0][layer] is None:
            continue
        rows = np.zeros((out.attentions[0][layer].shape[1], n, len(prompt) + n), np.float32)
        for step, reported in enumerate(out.attentions):
            row, end = reported[layer][0, :, -1].float().numpy(), len(prompt) + step  # [head, key of the cache]
            begin = first_key(end, row.shape[-1])
            rows[:, step, begin:end] = row[:, : end - begin]
        by_layer.append(rows)
    return out.sequences[0, len(prompt) :].tolist(), by_layer


@pytest.mark.parametrize("cache_kind", ["dynamic", "static"])
@pytest.mark.parametrize("family", list(FAMILIES))
def test_rows_are_those_of_the_recorded_steps(family: str, cache_kind: str) -> None:
    model = opened(family)
    kind = {} if cache_kind == "dynamic" else {"cache_implementation": "static"}
    generation = model.generate(PROMPT, max_new_tokens=9, keep="rows", **kind)
    ids, steps = steps_of(tiny(FAMILIES[family]()), list(generation.text.ids[:12]), 9)
    assert (generation.n_prompt, list(generation.written_ids)) == (12, ids)
    assert generation.about["recorded"] in ("cache", "text")
    assert generation.about["difference"] <= generation.about["allowed"] == 1e-3
    assert len(steps) == len(generation.main.layers)
    for ours, theirs in zip(generation.main.rows_by_layer, steps, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    for shares, rows in zip(generation.main.shares_by_layer, generation.main.rows_by_layer, strict=True):
        np.testing.assert_allclose(shares.sum(-1), rows.sum(-1), atol=1e-5)  # shares add up to the row
    replayed = model.replay(PROMPT, completion_ids=generation.written_ids, keep="rows")
    np.testing.assert_allclose(replayed.rows, generation.rows, atol=1e-5)
    np.testing.assert_allclose(replayed.probabilities, generation.probabilities, atol=1e-5)


def long_prompt(n: int) -> str:
    return " ".join(WORDS[i * 7 % 15] for i in range(n - 2))


def dynamic() -> t.PreTrainedModel:
    rope = {"rope_type": "dynamic", "factor": 2.0, "rope_theta": 10000.0}
    return tiny(t.LlamaConfig(**TINY, rope_parameters=rope))


@pytest.mark.parametrize("n_prompt", [12, 40, 60, 90])
def test_positions_that_depend_on_the_length_are_recorded_in_steps(n_prompt: int) -> None:
    """A pass over the finished text gives other rows beyond the limit of 64 tokens; a short prompt alone would not show it."""
    tokenizer = tiny_tokenizer()
    tokenizer.model_max_length = 1000
    model = el.wrap(dynamic(), tokenizer)
    writer = replace(model._writer, reader=replace(model._reader, max_tokens=None))
    keep = what_to_keep(model.layout, model.name, "rows", None, None, None)
    (generation,) = writer.generate([writer.prompt(as_source(long_prompt(n_prompt)))], 9, keep, None, {})
    ids, steps = steps_of(dynamic(), list(generation.text.ids[:n_prompt]), 9)
    assert (generation.n_prompt, list(generation.written_ids)) == (n_prompt, ids)
    for ours, theirs in zip(generation.main.rows_by_layer, steps, strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-5)
    beyond = n_prompt >= 60
    assert generation.about["recorded"] == ("steps" if beyond else "cache")
    assert [notice.key for notice in generation.notices] == (["notice.generation.steps"] if beyond else [])
    if beyond:
        with pytest.raises(ModelError, match="rope_type dynamic, beyond 64 tokens"):
            writer.replay(as_source(long_prompt(n_prompt)), ids, keep)
    else:
        np.testing.assert_allclose(writer.replay(as_source(long_prompt(n_prompt)), ids, keep).rows, generation.rows, atol=1e-5)


def test_logits_that_no_pass_reproduces_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyeline.models.generate.AGREE", -1.0)
    with pytest.raises(ModelError, match=r"(?s)cannot be computed.*cache: .*text: .*steps: ") as error:
        opened("llama").generate(PROMPT, max_new_tokens=3)
    assert "It wrote" in str(error.value)  # nothing is lost


@cache
def written() -> Generation:
    return opened("llama").generate(PROMPT, max_new_tokens=6, keep="rows")


def rows_of_trace(model: el.Model, generation: Generation) -> np.ndarray:
    """[layer, head, written, key]: what a plain pass over the text gives."""
    weights = model.trace_inputs({"input_ids": torch.tensor([generation.text.ids])}).weights
    return weights[:, :, generation.n_prompt - 1 : -1]


def test_beams_batches_and_samples_have_the_rows_of_their_own_text() -> None:
    model, prompts = opened("llama"), [PROMPT, "it ran"]
    ways: list[dict[str, Any]] = [
        {},
        {"num_beams": 3, "num_return_sequences": 2},
        {"do_sample": True, "num_return_sequences": 2, "seed": 3, "temperature": 3.0},
    ]
    for options in ways:
        generations = model.generations(prompts, max_new_tokens=5, keep="rows", **options)
        assert len(generations) == 2 * options.get("num_return_sequences", 1)
        for generation in generations:
            assert generation.text.tokens[0] == "[CLS]"  # no padding
            np.testing.assert_allclose(generation.rows, rows_of_trace(model, generation), atol=1e-5)
    assert {generation.n_prompt for generation in generations} == {12, 4}
    assert len({generation.written_ids for generation in generations}) > 2


def test_a_seed_gives_the_same_text_and_disturbs_nobody() -> None:
    options: dict[str, Any] = {"max_new_tokens": 8, "do_sample": True, "temperature": 5.0}
    torch.manual_seed(1)
    expected = torch.rand(3)
    torch.manual_seed(1)
    first = opened("llama").generate(PROMPT, **options)
    torch.testing.assert_close(torch.rand(3), expected, rtol=0, atol=0)
    again = opened("llama").generate(PROMPT, seed=first.about["seed"], **options)
    other = opened("llama").generate(PROMPT, seed=first.about["seed"] + 1, **options)
    assert first.written_ids == again.written_ids != other.written_ids


def test_the_model_is_left_as_it_was() -> None:
    model = opened("mistral, window of 5")
    before = state(model._hf)
    model.generate(PROMPT, max_new_tokens=4)
    model.generate(PROMPT, max_new_tokens=4, cache_implementation="static")
    assert state(model._hf) == before


def test_probabilities_and_alternatives_are_those_of_the_model() -> None:
    model, generation = opened("llama"), written()
    logits = model._hf(torch.tensor([generation.text.ids])).logits[0, 11:-1].log_softmax(-1).exp()  # [written, token]
    np.testing.assert_allclose(generation.probabilities, logits[range(6), list(generation.written_ids)].numpy(force=True), atol=1e-6)
    for step, choices in enumerate(generation.alternatives):
        best = logits[step].topk(5)
        assert (choices.position, list(choices.ids)) == (11 + step, best.indices.tolist())
        np.testing.assert_allclose(choices.probabilities, best.values.numpy(force=True), atol=1e-6)
        assert choices.ids[0] == generation.written_ids[step]  # greedy


def test_chosen_layers_and_heads_are_kept() -> None:
    whole, model = written(), opened("llama")
    some = model.generate(PROMPT, max_new_tokens=6, layers=[0, 2], heads=[(2, 1), (0, 3)])
    assert [str(head) for head in some.main.kept_heads] == ["L0·H3", "L2·H1"]
    np.testing.assert_allclose(some.row_of((2, 1)), whole.row_of((2, 1)), atol=1e-6)
    np.testing.assert_allclose(some.shares, whole.shares[[0, 2]], atol=1e-6)
    np.testing.assert_allclose(some.mean_rows, whole.rows[[0, 2]].mean(1), atol=1e-6)
    with pytest.raises(TraceError, match="rows of L0·H0 were not kept"):
        some.row_of((0, 0))
    with pytest.raises(TraceError, match="some heads alone"):
        _ = some.rows


def test_named_parts_have_their_shares() -> None:
    generation = opened("llama").generate(PROMPT, max_new_tokens=4, keep="rows", parts={"beginning": "the cat sat", "end": "ran home"})
    assert generation.parts == ("first position", "text", "beginning", "end", "written")
    at = generation.text.in_part("beginning")
    assert [generation.text.tokens[i] for i in at] == ["the", "cat", "sat"]
    np.testing.assert_allclose(generation.shares[..., 2], generation.rows[..., at].sum(-1), atol=1e-6)
    np.testing.assert_allclose(generation.share_of("beginning", (1, 2)), generation.rows[1, 2][:, at].sum(-1), atol=1e-6)


def test_the_lookback_ratio_is_one_of_means() -> None:
    generation = written()
    ratio = generation.lookback()
    assert ratio.shape == (3, 4, 6)
    assert np.isnan(ratio[..., 0]).all()
    row = generation.rows[1, 2, 4]  # 12 tokens of prompt, 4 written before it
    context, wrote = row[:12].mean(), row[12:16].mean()
    np.testing.assert_allclose(ratio[1, 2, 4], context / (context + wrote), rtol=1e-5)


def test_an_encoder_decoder_model_gives_the_cross_attention_of_every_written_token() -> None:
    model = el.wrap(t5(), tiny_tokenizer())  # its scores are not scaled, and are large here: rounding shows in the fifth digit
    for options in ({}, {"num_beams": 2}):
        generation = model.generate(PROMPT, max_new_tokens=5, keep="rows", parts={"beginning": "the cat sat"}, **options)
        inputs = {"input_ids": torch.tensor([generation.source.ids]), "decoder_input_ids": torch.tensor([generation.text.ids])}
        trace = model.trace_inputs(inputs)
        np.testing.assert_allclose(generation.rows, trace.cross.weights[:, :, :-1], atol=1e-4)
        np.testing.assert_allclose(generation.stacks["decoder"].rows, trace.decoder.weights[:, :, :-1], atol=1e-4)
        assert generation.parts == ("first position", "text", "beginning")
    replayed = model.replay(PROMPT, completion_ids=generation.written_ids, keep="rows")
    np.testing.assert_allclose(replayed.rows, generation.rows, atol=1e-4)


def test_a_stop_string_ends_the_text() -> None:
    tokenizer = byte_level()
    model = el.wrap(tiny(t.LlamaConfig(**{**TINY, "vocab_size": len(tokenizer)})), tokenizer)
    whole = model.generate("The cat sat", max_new_tokens=8)
    stop = tokenizer.decode([whole.written_ids[3]])
    generation = model.generate("The cat sat", max_new_tokens=8, stop_strings=[stop])
    assert generation.written_ids == whole.written_ids[: generation.n_written]
    assert generation.n_written <= 4
    assert generation.completion.endswith(stop)
    assert (whole.about["ended"], generation.about["ended"]) == ("length", "stop string")


def test_an_end_token_ends_each_text_of_a_batch() -> None:
    whole = written()
    end = whole.written_ids[2]
    both = opened("llama").generations([PROMPT, "it ran"], max_new_tokens=6, eos_token_id=end)
    assert both[0].written_ids == whole.written_ids[: whole.written_ids.index(end) + 1]
    assert both[0].about["ended"] == "end"


class _Interrupt(t.StoppingCriteria):  # type: ignore[misc]
    """Presses Ctrl-C after two tokens."""

    calls = 0

    def __call__(self, input_ids: torch.Tensor, scores: Any, **_: Any) -> torch.Tensor:
        self.calls += 1
        if self.calls == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return torch.zeros(len(input_ids), dtype=torch.bool)


def test_ctrl_c_gives_what_was_written() -> None:
    generation = opened("llama").generate(PROMPT, max_new_tokens=6, stopping_criteria=[_Interrupt()])
    assert generation.written_ids == written().written_ids[: generation.n_written]
    assert 2 <= generation.n_written <= 3
    assert generation.about["ended"] == "stopped"
    assert [notice.key for notice in generation.notices] == ["notice.generation.stopped"]
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_half_precision_agrees_with_its_own_steps() -> None:
    hf = tiny(FAMILIES["llama"]()).to(torch.bfloat16)
    generation = el.wrap(hf, tiny_tokenizer()).generate(PROMPT, max_new_tokens=6, keep="rows")
    assert generation.about["difference"] <= generation.about["allowed"] < 0.1
    assert generation.rows.dtype == np.float16


def test_a_saved_generation_is_the_same(tmp_path: Path) -> None:
    generation = written()
    again = el.open(generation.save(tmp_path / "written.safetensors"))
    assert isinstance(again, Generation)
    assert (again.text, again.completion, again.alternatives, again.about) == (
        generation.text, generation.completion, generation.alternatives, generation.about,
    )  # fmt: skip
    np.testing.assert_array_equal(again.rows, generation.rows)
    np.testing.assert_array_equal(again.mean_rows, generation.mean_rows)
    some = opened("llama").generate(PROMPT, max_new_tokens=6, heads=[(2, 1)])
    again = el.open(some.save(tmp_path / "some.safetensors"))
    np.testing.assert_array_equal(again.row_of((2, 1)), some.row_of((2, 1)))


def test_tables_have_a_row_for_each_token_and_head(tmp_path: Path) -> None:
    generation = written()
    paths = generation.save_tables(tmp_path)
    lines = [path.read_text().splitlines() for path in paths]
    assert [len(of_file) for of_file in lines] == [1 + 6, 1 + 12]
    assert lines[0][0] == "position,token,probability,share of first position,share of text,share of written"
    assert sum(map(float, lines[1][1].split(",")[3:])) == pytest.approx(1, abs=1e-5)


def test_the_heads_that_changed_most_between_two_completions() -> None:
    model, first = opened("llama"), written()
    second = model.replay(PROMPT, completion_ids=[9, 9, 9, 10])
    (most, *_) = changes = heads_that_changed(first, second, top=12)
    differences = second.shares.mean(2) - first.shares.mean(2)  # [layer, head, part]
    assert abs(most.change) == pytest.approx(np.abs(differences).max(), abs=1e-6)
    at = differences[most.head.layer, most.head.head, first.parts.index(most.part)]
    assert most.change == pytest.approx(at, abs=1e-6)
    assert [abs(change.change) for change in changes] == sorted((abs(change.change) for change in changes), reverse=True)


def test_thoughts_are_a_part_of_their_own() -> None:
    model = opened("llama")
    words = [model._tokenizer.convert_tokens_to_ids(word) for word in ("the", "cat", ".", "it", "ran")]
    generation = model.replay(PROMPT, completion_ids=words, thinking=r"the cat")
    assert [generation.text.parts[i] for i in generation.text.part_of[12:]] == ["thinking 1", "thinking 1", "written", "written", "written"]


def test_ids_win_over_what_the_tokeniser_would_write() -> None:
    model = opened("llama")
    letters = model._tokenizer.convert_tokens_to_ids(["it", "##r", "##a"])
    generation = model.replay(PROMPT, completion_ids=letters)
    assert generation.written_ids == tuple(letters)
    assert [notice.key for notice in generation.notices] == ["notice.generation.other_ids"]
    assert model.replay(PROMPT, "it ran").notices == ()


BAD: dict[str, tuple[Callable[[el.Model], Any], type[Exception], str]] = {
    "no chat template": (lambda m: m.generate([{"role": "user", "content": "it ran"}]), TextError, "no chat template"),
    "overlapping parts": (lambda m: m.generate(PROMPT, parts={"a": (0, 9), "b": (4, 12)}), TextError, "overlap"),
    "parts outside": (lambda m: m.generate(PROMPT, parts={"a": (0, 900)}), TextError, "of a text of"),
    "a part with the name of what is written": (lambda m: m.generate(PROMPT, parts={"written": "the cat"}), TextError, "give another"),
    "a prompt that is too long": (lambda m: m.generate(" ".join(["cat"] * 47)), TextError, "takes 48"),
    "maps requested": (lambda m: m.generate(PROMPT, output_attentions=True), TraceError, "recorded anyway"),
    "a cache of one's own": (lambda m: m.generate(PROMPT, past_key_values=object()), TraceError, "Give the whole prompt"),
    "no cache": (lambda m: m.generate(PROMPT, use_cache=False), TraceError, "use_cache=False"),
    "nothing to write": (lambda m: m.generate(PROMPT, max_new_tokens=0), TraceError, "from 1 on"),
    "several texts": (lambda m: m.generate(PROMPT, num_return_sequences=2), TraceError, "generations"),
    "an unknown option": (lambda m: m.generate(PROMPT, tempratur=1.0), ModelError, "tempratur"),
    "an unknown head": (lambda m: m.generate(PROMPT, heads=[(9, 0)]), TraceError, "no layer 9"),
    "an unknown way to keep": (lambda m: m.generate(PROMPT, keep="maps"), TraceError, "Choices: shares, rows"),
    "no completion": (lambda m: m.replay(PROMPT), TextError, "what was written"),
    "an empty completion": (lambda m: m.replay(PROMPT, ""), TextError, "empty completion"),
    "a token that does not exist": (lambda m: m.replay(PROMPT, completion_ids=[4, 640]), TextError, "Token 640"),
    "no regular expression": (lambda m: m.replay(PROMPT, "it", thinking="("), TextError, "no regular expression"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_input_is_refused_with_what_to_do(case: str) -> None:
    call, kind, says = BAD[case]
    with pytest.raises(kind, match=says):
        call(opened("llama"))


def test_a_model_that_cannot_write_says_so() -> None:
    encoder = el.wrap(tiny(t.BertConfig(**TINY), t.AutoModelForMaskedLM), tiny_tokenizer())
    with pytest.raises(ModelError, match=r"cannot write|cannot generate|writes"):
        encoder.generate(PROMPT)


def test_memory_that_would_not_suffice_is_said_before_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("eyeline.models.generate.free_memory", lambda: 10_000)
    with pytest.raises(TraceError, match="Keep fewer rows"):
        opened("llama").generate(PROMPT, keep="rows")


def test_a_hostile_template_is_refused() -> None:
    tokenizer = tiny_tokenizer()
    tokenizer.chat_template = "{{ messages.__class__.__mro__[1].__subclasses__() }}"
    with pytest.raises(TextError, match="SecurityError"):
        el.wrap(tiny(FAMILIES["llama"]()), tokenizer).generate([{"role": "user", "content": "it ran"}])


def test_maps_that_the_configuration_asks_for_change_nothing() -> None:
    hf = tiny(FAMILIES["llama"]())
    hf.generation_config.output_attentions = True
    generation = el.wrap(hf, tiny_tokenizer()).generate(PROMPT, max_new_tokens=6, keep="rows")
    np.testing.assert_allclose(generation.rows, written().rows, atol=1e-6)


def test_the_shares_of_a_conversation_of_smollm2(smollm2: el.Model) -> None:
    """Means of all heads over the written tokens; with rough borders, a message with its marks, they are those of an earlier study."""
    messages = [{"role": "system", "content": "You are terse."}, {"role": "user", "content": "Name the capital of France."}]
    generation = smollm2.generate(messages, max_new_tokens=20)
    assert generation.completion == "The capital of France is Paris.<|im_end|>"
    assert (generation.n_prompt, generation.n_written, generation.about["ended"]) == (25, 8, "end")
    assert generation.about["recorded"] == "cache"
    shares = dict(zip(generation.parts, generation.main.shares_at().mean(0).tolist(), strict=True))
    exact = {"first position": 0.397, "template": 0.167, "system": 0.026, "user 1": 0.221, "written": 0.189}
    assert shares == pytest.approx(exact, abs=5e-4)
    mean = generation.mean_rows.mean((0, 1))  # [key]
    rough = [mean[0], mean[1:9].sum(), mean[9:21].sum(), mean[21:25].sum(), mean[25:].sum()]
    np.testing.assert_allclose(rough, [0.40, 0.05, 0.28, 0.08, 0.19], atol=0.006)


def test_heads_that_are_off_are_off_in_every_step_and_in_what_is_recorded() -> None:
    model = opened("llama")
    off = el.Ablate([(0, 1), (2, 3)])
    generation = model.generate(PROMPT, max_new_tokens=6, keep="rows", interventions=off)
    assert generation.about["recorded"] == "cache"
    for step, token in enumerate(generation.written_ids):  # the plain way: a whole changed pass for each token
        example = Example(generation.text.only(range(12 + step)))
        answer = model._answerer.predict(example, [off], 1)
        assert answer.ids[0] == token
        assert answer.probabilities[0] == pytest.approx(generation.probabilities[step], abs=1e-6)
    assert generation.written_ids != written().written_ids or not np.allclose(generation.probabilities, written().probabilities, atol=1e-4)
    replayed = model.replay(PROMPT, completion_ids=generation.written_ids, keep="rows", interventions=off)
    np.testing.assert_allclose(replayed.rows, generation.rows, atol=1e-5)


def test_edges_that_are_cut_while_it_writes_have_no_weight() -> None:
    model = opened("llama")
    cut = el.KnockOut(None, [2, 3, 4])
    generation = model.generate(PROMPT, max_new_tokens=5, keep="rows", interventions=cut)
    assert not generation.rows[..., 2:5].any()
    np.testing.assert_allclose(generation.rows.sum(-1), 1, atol=1e-5)
    replayed = model.replay(PROMPT, completion_ids=generation.written_ids, keep="rows", interventions=cut)
    np.testing.assert_allclose(replayed.rows, generation.rows, atol=1e-5)
    later = model.generate(PROMPT, max_new_tokens=5, keep="rows", interventions=el.KnockOut([13, 14], [1]))
    assert [bool(later.rows[:, :, t, 1].any()) for t in range(5)] == [True, True, False, False, True]
    with pytest.raises(TraceError, match="sees a window"):
        opened("mistral, window of 5").generate(PROMPT, max_new_tokens=5, interventions=cut)
    with pytest.raises(TraceError, match="not there yet"):
        model.generate(PROMPT, interventions=el.Ablate([(0, 1)], by="mean"))


def test_a_text_goes_on_from_a_written_token_without_some_heads() -> None:
    model, first = opened("llama"), written()
    same = model.continue_from(first, 2, max_new_tokens=4, keep="rows")
    assert (same.n_prompt, same.text.ids) == (14, first.text.ids)
    np.testing.assert_allclose(same.rows, first.rows[:, :, 2:], atol=1e-5)
    off = model.continue_from(
        first, 2, max_new_tokens=4, interventions=el.Ablate([(layer, head) for layer in range(3) for head in range(4)])
    )
    assert off.text.ids[:14] == first.text.ids[:14]
    assert not np.allclose(off.probabilities, same.probabilities, atol=1e-3)
    assert off.about["interventions"]
    with pytest.raises(TraceError, match="from 0 to 6"):
        model.continue_from(first, 7)
