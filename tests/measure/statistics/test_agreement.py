"""No silent wrong number: attention is streamed only where it was seen to agree with the model's own maps, and that is checked again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from eyeline.measure.statistics import agreement, loop
from eyeline.measure.statistics import rows as rows_module
from eyeline.measure.statistics.agreement import RECHECK_EVERY, Forms, PassCheck, is_rechecked
from eyeline.measure.statistics.loop import update_statistics
from eyeline.models import kernels
from eyeline.models import tracing as tracing_module
from eyeline.models.attention import AttentionCall, LayerAttention, MasksOfPass, UncheckedMaskError
from eyeline.models.layout import check_layers
from eyeline.statistics import Batch, Entropy
from tests.laws.statistics import tiny_model
from tests.models.families import SEQ2SEQ, TINY, VOCAB, tiny_tokenizer

#: With three texts in a batch: a padded one first, then one of equal lengths, without padding.
TEXTS = ["the cat sat on the mat and ran", "the cat sat on the mat and", "the cat sat on the mat", *["the dog ran home"] * 3]
PAIRS = [(text, text) for text in TEXTS]


def loud(config: t.PreTrainedConfig, name: str) -> el.Model:
    torch.manual_seed(0)
    hf = t.AutoModel.from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter_name, parameter in hf.named_parameters():
            if parameter.ndim > 1 and "embed" not in parameter_name:
                parameter.mul_(6)
    return el.wrap(hf, tiny_tokenizer(), name=name)


@cache
def splinter() -> el.Model:
    return loud(t.SplinterConfig(**TINY), "splinter")


@cache
def pegasus_x() -> el.Model:
    return loud(
        t.PegasusXConfig(**{**SEQ2SEQ, "encoder_layers": 2, "decoder_layers": 2, "num_global_tokens": 2, "block_size": 4}), "pegasus-x"
    )


def dense_entropy(model: el.Model, texts: list) -> dict[tuple[str, int, int], float]:
    """The mean entropy of every head over rows, then over texts, from whole maps of one text at a time."""
    means: dict[tuple[str, int, int], list[float]] = {}
    for trace in model.traces(texts):
        for name, stack in trace.stacks.items():
            for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=True):
                logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)
                for head, values in enumerate(-(weights * logs).sum(-1)):
                    means.setdefault((name, layer, head), []).append(float(values.mean()))
    return {key: float(np.mean(values)) for key, values in means.items()}


@pytest.mark.parametrize(("make", "texts"), [(splinter, TEXTS), (pegasus_x, PAIRS)], ids=["splinter", "pegasus-x"])
def test_entropy_of_models_without_sdpa_is_that_of_their_maps(make, texts, monkeypatch):
    monkeypatch.setattr(tracing_module, "BATCH_TEXTS", 3)
    model = make()
    run = el.analyse(model, texts, [Entropy()])
    expected = dense_entropy(model, texts)
    only = next(iter(model.layout.stacks))
    for row in run.table("entropy").rows():
        assert row["all"] == pytest.approx(expected[str(row.get("stack", only)), int(row["layer"]), int(row["head"])], abs=1e-4)
    assert not model.gives.streamed
    assert run.facts.streamed is False
    with pytest.raises(ModelError, match="cannot be streamed"):
        model.passes.layers_without_maps([model.read(texts[0])], lambda _: None)


@pytest.mark.parametrize("make", [splinter, pegasus_x], ids=["splinter", "pegasus-x"])
def test_the_causal_flag_is_that_of_the_mask_which_the_model_builds(make):
    model = make()
    stacks = [slot.stack for slot in model.layout.calls if slot is not None]
    flags = [flag for flag, slot in zip(model.layout.causal, model.layout.calls, strict=True) if slot is not None]
    assert flags == [stack == "decoder" for stack in stacks]


#: In batches of three: padded ones of the same kind.
PADDED = ["the cat sat on the mat and ran home", "the cat sat on the mat and", "the cat sat on the", "the cat sat", "a cat", "home"]


def entropies_of(model: el.Model, texts: list, **given) -> tuple[np.ndarray, el.runs.Run]:
    run = el.analyse(model, texts, [Entropy()], **given)
    return run.table("entropy")["all"], run


def test_a_form_that_is_wrong_without_padding_alone_is_found_when_it_is_first_used(monkeypatch):
    """The first batch is padded, the second is not."""
    monkeypatch.setattr(tracing_module, "BATCH_TEXTS", 3)
    monkeypatch.setattr(kernels, "may_apply", lambda *_: False)
    expected, _ = entropies_of(tiny_model(), TEXTS)
    right = rows_module._rows

    def wrong(layer, *block):
        unpadded = len(set(layer.n_queries)) == 1
        causal = replace(layer, recorded=replace(layer.call, causal=True, mask=None))
        return right(causal if unpadded else layer, *block)

    monkeypatch.setattr(rows_module, "_rows", wrong)
    entropies, run = entropies_of(tiny_model(), TEXTS)
    np.testing.assert_allclose(entropies, expected, atol=1e-5)
    assert run.facts.streamed
    assert any("Layers 0…2 (encoder): attention through a fused kernel differs" in notice for notice in run.facts.notices)


def test_a_fault_after_the_first_batch_stops_the_run(monkeypatch):
    monkeypatch.setattr(tracing_module, "BATCH_TEXTS", 3)
    monkeypatch.setattr(agreement, "RECHECK_EVERY", 1)
    monkeypatch.setattr(kernels, "may_apply", lambda *_: False)
    right, reports = rows_module._rows, []

    def faulty(layer, *block):
        rows = right(layer, *block)
        return rows if not reports else replace(rows, total=rows.total * 1.1, lse=None)

    monkeypatch.setattr(rows_module, "_rows", faulty)
    with pytest.raises(ModelError, match="is not that of its own maps"):
        el.analyse(tiny_model(), PADDED, [Entropy()], progress=reports.append)
    assert len(reports) == 1


@pytest.mark.parametrize("part", ["output", "entropies"])
def test_a_fault_of_the_one_pass_form_after_the_first_batch_stops_the_run(monkeypatch, part):
    monkeypatch.setattr(tracing_module, "BATCH_TEXTS", 3)
    monkeypatch.setattr(agreement, "RECHECK_EVERY", 1)
    right, reports = kernels.attention_of_short_texts, []

    def faulty(*given):
        output, shares, entropies, log_sums = right(*given)
        if reports and part == "output":
            output = output * 1.01
        elif reports:
            entropies = entropies * 1.1
        return output, shares, entropies, log_sums

    monkeypatch.setattr(kernels, "attention_of_short_texts", faulty)
    with pytest.raises(ModelError, match="is not that of its own maps"):
        el.analyse(tiny_model(), PADDED, [Entropy()], progress=reports.append)
    assert len(reports) == 1


def test_a_wrong_one_pass_form_is_not_used_and_the_numbers_stay_right(monkeypatch):
    expected, _ = entropies_of(tiny_model(), TEXTS[:4])
    right = kernels.attention_of_short_texts
    monkeypatch.setattr(kernels, "attention_of_short_texts", lambda *given: tuple(part * 1.1 for part in right(*given)))
    entropies, run = entropies_of(tiny_model(), TEXTS[:4])
    assert run.facts.streamed
    assert any("are computed in a second pass over queries and keys" in notice for notice in run.facts.notices)
    np.testing.assert_allclose(entropies, expected, atol=1e-5)


def test_a_mask_that_the_model_changes_itself_is_not_trusted(monkeypatch):
    expected, before = entropies_of(tiny_model(), TEXTS[:3])
    right = MasksOfPass.make
    monkeypatch.setattr(MasksOfPass, "make", lambda self, *args, **given: as_numbers(right(self, *args, **given)))
    entropies, run = entropies_of(tiny_model(), TEXTS[:3])
    assert (before.facts.streamed, run.facts.streamed) == (True, False)
    assert any("changes the masks of its attention" in notice for notice in run.facts.notices)
    np.testing.assert_allclose(entropies, expected, atol=1e-5)


def as_numbers(mask):
    return None if mask is None else torch.zeros(mask.shape).masked_fill(~mask, -1e9)


def test_a_mask_that_was_left_out_and_is_neither_causal_nor_open_is_not_trusted():
    masks = MasksOfPass(
        1, [{"batch_size": 1, "q_length": 8, "kv_length": 8, "mask_function": lambda _b, _h, q, k: (k <= q) & (k >= q - 2)}]
    )
    with pytest.raises(UncheckedMaskError):
        masks.left_out_is_causal(True, "decoder", 8)
    causal = MasksOfPass(1, [{"batch_size": 1, "q_length": 40, "kv_length": 40}])
    assert causal.left_out_is_causal(True, "decoder", 40)
    assert causal.left_out_is_causal(False, "decoder", 40), "a decoder that was taken for open"
    assert not causal.left_out_is_causal(False, "cross", 40)


# ---- A deep model: rounding moves its hidden states far apart between two passes, and no layer differs from itself


DEEP = 48

HALVES = [torch.float32, torch.bfloat16, torch.float16]


@cache
def deep_model(dtype: torch.dtype) -> el.Model:
    torch.manual_seed(0)
    config = t.LlamaConfig(
        vocab_size=VOCAB, hidden_size=128, intermediate_size=256, num_hidden_layers=DEEP, num_attention_heads=4, num_key_value_heads=2,
        initializer_range=0.2, max_position_embeddings=64,
    )  # fmt: skip
    return el.wrap(t.LlamaModel(config).eval().to(dtype), tiny_tokenizer(), name="deep")


LONG = ["the cat sat on the mat and it purred and the dog ran a very long way home and a cat sat on a mat .", "the dog ran home and sat ."]


def checked(model: el.Model, *, one_pass: bool = False) -> Forms:
    """The forms of all layers after a batch with padding and one without."""
    forms = Forms()
    for texts in (LONG, LONG[:1]):
        batch = Batch(tuple(model.read(text) for text in texts), {}, model.hf.device)
        check = PassCheck(model.name, forms)
        update_statistics(model, batch, [Entropy()], check_layers(model.layout, None), streamed=True, one_pass=one_pass, check=check)
    return forms


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_deep_model_is_streamed_in_every_precision(dtype):
    assert checked(deep_model(dtype), one_pass=True).slower == {}


def shifted(mask: torch.Tensor | None, n: int) -> torch.Tensor:
    """The mask of four heads, that of the second shifted by one key."""
    seen = torch.ones(1, 1, n, n, dtype=torch.bool).tril() if mask is None else mask
    seen = seen.repeat(1, 4, 1, 1)
    seen[:, 1, :, 1:] = seen[:, 1, :, :-1].clone()
    return seen


def with_fault(fault: str, queries: torch.Tensor, mask: torch.Tensor | None) -> tuple[torch.Tensor, torch.Tensor | None]:
    """Queries and mask with a fault in the second head, in single precision."""
    queries = queries.float()
    if fault == "mask":
        return queries, shifted(mask, queries.shape[2])
    factor = torch.tensor([1, 1.005, 1, 1])[:, None, None]
    return queries * factor, mask


def in_fused_kernel(monkeypatch, fault: str, layer: int) -> None:
    right = AttentionCall.fused

    def faulty(call: AttentionCall):
        if call.module.layer_idx != layer:
            return right(call)
        queries, mask = with_fault(fault, call.queries, call.mask)
        wrong = replace(call, queries=queries, keys=call.keys.float(), values=call.values.float(), mask=mask)
        return right(wrong).to(call.queries.dtype)

    monkeypatch.setattr(AttentionCall, "fused", faulty)


def in_rows(monkeypatch, fault: str, layer: int) -> None:
    right = rows_module._rows

    def faulty(attention: LayerAttention, *block):
        call = attention.call
        if attention.layer == layer:
            queries, mask = with_fault(fault, call.queries, call.mask)
            call = replace(call, queries=queries, mask=mask, causal=call.causal and mask is None)
        return right(replace(attention, recorded=call), *block)

    monkeypatch.setattr(rows_module, "_rows", faulty)


def in_one_pass(monkeypatch, fault: str, layer: int) -> None:
    """As the kernel of a GPU does: output and shares rounded to the model's precision, entropies not."""
    calls = []

    def one_pass(queries, keys, values, mask, scale, causal, sets):
        calls.append(None)
        dtype = queries.dtype
        if (len(calls) - 1) % DEEP == layer:
            queries, mask = with_fault(fault, queries, mask)
        columns = sets.matrix[..., : sets.n].float()
        given = (queries.float(), keys.float(), values.float(), mask, scale, causal and mask is None, columns, kernels.OFFSETS)
        output, shares, *rest = kernels.attention_of_short_texts(*given)
        return output.to(dtype), kernels.RowNumbers(sets, shares.to(dtype).float(), *rest)

    monkeypatch.setattr(kernels, "may_apply", lambda *_: True)
    monkeypatch.setattr(kernels, "applies", lambda *_: True)
    monkeypatch.setattr(kernels, "attention", one_pass)


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("fault", ["mask", "scale"])
@pytest.mark.parametrize(("plant", "layer"), [(in_fused_kernel, 0), (in_fused_kernel, 47), (in_rows, 30), (in_one_pass, 47)])
def test_a_fault_in_one_head_of_one_layer_is_found_in_every_precision(monkeypatch, plant, layer, fault, dtype):
    """A mask shifted by one key, a scale off by 0.5 %: that layer alone takes a slower form."""
    model = deep_model(dtype)
    plant(monkeypatch, fault, layer)
    one_pass = plant is in_one_pass
    assert checked(model, one_pass=one_pass).slower == {f"decoder.{layer}": "streamed" if one_pass else "dense"}


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_a_layer_that_takes_the_dense_form_has_the_numbers_of_its_maps(monkeypatch, dtype):
    model = deep_model(dtype)
    batch = Batch(tuple(model.read(text) for text in LONG), {}, model.hf.device)
    layers = check_layers(model.layout, None)

    def table(check: PassCheck | None) -> np.ndarray:
        statistic = Entropy()
        update_statistics(model, batch, [statistic], layers, streamed=True, check=check)
        return statistic.result()["entropy"]["all"].reshape(DEEP, -1)

    streamed = table(None)
    monkeypatch.setattr(loop, "WHOLE", 8)
    dense = table(PassCheck("deep", Forms({"decoder.0": "dense"})))
    np.testing.assert_allclose(dense[0], streamed[0], atol=1e-5 if dtype == torch.float32 else 2e-2)


def test_about_one_batch_in_fifty_is_checked_again_always_the_same_ones():
    chosen = [is_rechecked(0, group, batch) for group in range(50) for batch in range(100)]
    assert 0.5 < np.mean(chosen) * RECHECK_EVERY < 1.5
    assert chosen == [is_rechecked(0, group, batch) for group in range(50) for batch in range(100)]
    assert chosen != [is_rechecked(1, group, batch) for group in range(50) for batch in range(100)]
