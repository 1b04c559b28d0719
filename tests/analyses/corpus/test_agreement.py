"""No silent wrong number: attention is streamed only where it was seen to agree with the model's own maps, and that is checked again."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.analyses.corpus import agreement
from eyeline.analyses.corpus import fold as fold_module
from eyeline.analyses.corpus.agreement import RECHECK_EVERY, is_rechecked
from eyeline.analyses.corpus.batch import roles_of
from eyeline.analyses.corpus.statistics.entropy import Entropy
from eyeline.capture.selection import check_layers
from eyeline.errors import ModelError
from eyeline.measures.kernels import one_pass
from eyeline.models import tracing as tracing_module
from tests.capture.families import SEQ2SEQ, TINY, tiny_tokenizer
from tests.laws.statistics import tiny_model

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
        model.stream_scores([model.read(texts[0])], lambda _: None)


@pytest.mark.parametrize("make", [splinter, pegasus_x], ids=["splinter", "pegasus-x"])
def test_the_causal_flag_is_that_of_the_mask_which_the_model_builds(make):
    model = make()
    stacks = [slot.stack for slot in model.layout.calls if slot is not None]
    flags = [flag for flag, slot in zip(model.layout.causal, model.layout.calls, strict=True) if slot is not None]
    assert flags == [stack == "decoder" for stack in stacks]


def test_a_form_that_is_wrong_without_padding_alone_is_not_used(monkeypatch):
    """The first batch is padded; the check makes itself one that is not."""
    model = tiny_model()
    right = fold_module.rows_of_scores

    def wrong(scores, **given):
        unpadded = len(set(scores.n_queries)) == 1
        return right(scores if not unpadded else replace(scores, causal=True, mask=None), **given)

    monkeypatch.setattr(fold_module, "rows_of_scores", wrong)
    batch = agreement.Batch(tuple(model.read(text) for text in TEXTS[:3]), roles_of(model.tokenizer))
    assert not agreement.can_stream(model, batch, [Entropy()], check_layers(model.layout, None))


def test_a_fault_after_the_first_batch_stops_the_run(monkeypatch):
    monkeypatch.setattr(tracing_module, "BATCH_TEXTS", 3)
    monkeypatch.setattr(agreement, "RECHECK_EVERY", 1)
    monkeypatch.setattr(one_pass, "may_apply", lambda *_: False)
    right, reports = fold_module.rows_of_scores, []

    def faulty(scores, **given):
        for rows in right(scores, **given):
            yield rows if not reports else replace(rows, total=rows.total * 1.1, lse=None)

    monkeypatch.setattr(fold_module, "rows_of_scores", faulty)
    with pytest.raises(ModelError, match="is not that of its own maps"):
        el.analyse(tiny_model(), TEXTS, [Entropy()], progress=reports.append)
    assert len(reports) == 1


@pytest.mark.parametrize("part", ["output", "entropies"])
def test_a_fault_of_the_one_pass_form_after_the_first_batch_stops_the_run(monkeypatch, part):
    monkeypatch.setattr(tracing_module, "BATCH_TEXTS", 3)
    monkeypatch.setattr(agreement, "RECHECK_EVERY", 1)
    right, reports = one_pass.attention_of_short_texts, []

    def faulty(*given):
        output, shares, entropies, log_sums = right(*given)
        if reports and part == "output":
            output = output * 30  # random weights: the next layer's attention hardly follows a smaller fault
        elif reports:
            entropies = entropies * 1.1
        return output, shares, entropies, log_sums

    monkeypatch.setattr(one_pass, "attention_of_short_texts", faulty)
    with pytest.raises(ModelError, match="is not that of its own maps"):
        el.analyse(tiny_model(), TEXTS, [Entropy()], progress=reports.append)
    assert len(reports) == 1


def test_a_wrong_one_pass_form_is_not_used_and_the_numbers_stay_right(monkeypatch):
    expected = el.analyse(tiny_model(), TEXTS[:4], [Entropy()]).table("entropy")["all"]
    right = one_pass.attention_of_short_texts
    monkeypatch.setattr(one_pass, "attention_of_short_texts", lambda *given: tuple(part * 1.1 for part in right(*given)))
    run = el.analyse(tiny_model(), TEXTS[:4], [Entropy()])
    assert run.facts.streamed
    np.testing.assert_allclose(run.table("entropy")["all"], expected, atol=1e-5)


def test_about_one_batch_in_fifty_is_checked_again_always_the_same_ones():
    chosen = [is_rechecked(0, group, batch) for group in range(50) for batch in range(100)]
    assert 0.5 < np.mean(chosen) * RECHECK_EVERY < 1.5
    assert chosen == [is_rechecked(0, group, batch) for group in range(50) for batch in range(100)]
    assert chosen != [is_rechecked(1, group, batch) for group in range(50) for batch in range(100)]
