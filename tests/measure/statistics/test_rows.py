"""Rows in blocks of any size, fused or from maps, answer alike; long texts of models that are not plain come in blocks of rows."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import TraceError
from eyeline.measure.statistics import loop
from eyeline.measure.statistics.loop import update_statistics
from eyeline.measure.statistics.rows import fused_rows, rows_of_scores
from eyeline.measure.statistics.statistic import SumKey, roles_of
from eyeline.models.attention import AttentionCall
from eyeline.models.layout import check_layers
from eyeline.statistics import AverageAttention, Batch, Entropy, HeadDistances, Rows
from tests.models.families import FAMILIES, Family, tiny_tokenizer


def scores(n: int, *, causal: bool, heads: int = 6, key_heads: int = 2, texts: int = 1) -> el.traces.LayerAttention:
    torch.manual_seed(n)
    queries, keys = torch.randn(texts, heads, n, 16) * 3, torch.randn(texts, key_heads, n, 16)
    call = AttentionCall(torch.nn.Module(), queries, keys, keys, None, {"scaling": 0.25}, causal)
    return el.traces.LayerAttention("decoder" if causal else "encoder", 0, (n,) * texts, (n,) * texts, call)


def dense(layer: el.traces.LayerAttention) -> torch.Tensor:
    call = layer.call
    keys = call.keys.repeat_interleave(call.queries.shape[1] // call.keys.shape[1], 1)
    logits = call.queries.double() @ keys.double().transpose(2, 3) * call.scale
    return (logits.masked_fill(torch.ones_like(logits, dtype=torch.bool).triu(1), -torch.inf) if call.causal else logits).softmax(-1)


def assert_rows(rows: Rows, weights: torch.Tensor, columns: torch.Tensor) -> None:
    """Every answer of these rows against the dense map [text, head, query, key]."""
    part = weights[rows.texts.start : rows.texts.stop, rows.heads.start : rows.heads.stop, rows.first : rows.first + rows.n_rows]
    torch.testing.assert_close(rows.mass(columns).double(), part @ columns[:, None].double(), atol=1e-5, rtol=0)
    expected = -(part * part.clamp_min(1e-300).log()).sum(-1)
    torch.testing.assert_close(rows.entropy().double(), expected, atol=3e-5, rtol=0)
    for offset in (-2, -1, 0, 1, 3):
        indices = torch.arange(rows.first, rows.first + rows.n_rows)
        there = (indices + offset >= 0) & (indices + offset < weights.shape[-1])
        picked = part[:, :, torch.arange(rows.n_rows)[there], (indices + offset)[there]]
        assert not rows.at_offset(offset)[..., ~there].any()
        torch.testing.assert_close(rows.at_offset(offset)[..., there].double(), picked, atol=1e-5, rtol=0)


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("block", [1, 5000, 40_000, 1 << 20])
def test_blocks_of_any_size_answer_like_the_map(causal: bool, block: int) -> None:
    layer = scores(150, causal=causal)
    columns = (torch.rand(1, 150, 4) > 0.7).float()
    seen = torch.zeros(6, 150)
    for rows in rows_of_scores(layer, block):
        assert_rows(rows, dense(layer), columns)
        seen[rows.heads.start : rows.heads.stop, rows.first : rows.first + rows.n_rows] += 1
        assert rows.exponentials.numel() <= max(4 * block, 64 * 150)
    assert (seen == 1).all()  # every row of every head once


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("masses_first", [True, False])
def test_the_fused_kernel_answers_like_the_map(causal: bool, masses_first: bool) -> None:
    layer = scores(150, causal=causal)
    rows = fused_rows(layer)
    if not masses_first:
        rows.entropy()
    assert_rows(rows, dense(layer), (torch.rand(1, 150, 4) > 0.7).float())
    assert rows.visible.tolist() == [list(range(1, 151)) if causal else [150] * 150]
    with pytest.raises(TraceError, match="no attention map"):
        rows.weights()


def test_a_row_that_sees_nothing_gives_nothing() -> None:
    layer = scores(4, causal=False)
    mask = torch.ones(1, 1, 4, 4, dtype=torch.bool)
    mask[:, :, 2] = False
    hidden = replace(layer, recorded=replace(layer.call, mask=mask))
    (rows,) = rows_of_scores(hidden)
    assert not rows.weights()[:, :, 2].any()
    assert not rows.mass(torch.ones(1, 4, 1))[:, :, 2].any()
    assert torch.isfinite(rows.entropy()).all()
    assert rows.visible.tolist() == [[4, 4, 0, 4]]


RECORDED = [family for family in FAMILIES if family.reads == "text" and family.recorded]
STATISTICS = [AverageAttention(), Entropy(), HeadDistances()]


@pytest.mark.parametrize("family", RECORDED, ids=str)
def test_rows_in_blocks_are_the_whole_map(family: Family, monkeypatch: pytest.MonkeyPatch) -> None:
    model = el.wrap(family.model(), tiny_tokenizer(), name=family.name)
    item = "the cat sat on the mat , and it purred . a dog ran a very long way home ."
    examples = [model.read((item, "the mat and a dog") if model.hf.config.is_encoder_decoder else item)]
    whole: list[el.traces.LayerAttention] = []
    blocks: list[el.traces.LayerAttention] = []
    model.passes.layers(examples, whole.append)
    model.passes.layers(examples, blocks.append, rows=5)
    for sentence in whole:
        parts = [part for part in blocks if (part.stack, part.layer) == (sentence.stack, sentence.layer)]
        assert len(parts) == -(-sentence.weights.shape[2] // 5)
        torch.testing.assert_close(torch.cat([part.weights for part in parts], 2), sentence.weights, atol=1e-5, rtol=0)
    results = []
    for limit in (1024, 6):
        monkeypatch.setattr(loop, "WHOLE", limit)
        fresh = [statistic.fresh() for statistic in STATISTICS]
        update_statistics(model, Batch(tuple(examples), roles_of(model.tokenizer)), fresh, check_layers(model.layout, None), streamed=False)
        results.append({f"{sentence.name} {name}": values for sentence in fresh for name, values in sentence.state().items()})
    assert results[0].keys() == results[1].keys()
    for name, values in results[0].items():
        np.testing.assert_allclose(results[1][name], values, rtol=1e-4, atol=1e-4, err_msg=name)


def test_streamed_statistics_of_a_text_cut_into_blocks_are_those_of_the_whole(smollm2: el.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    from eyeline.measure.statistics import rows as rows_module

    examples = (smollm2.read("The cat sat on the mat, and then it slept. " * 12),)
    collected = []
    for block in (1 << 20, 9 * 130 * 20):
        monkeypatch.setattr(rows_module, "BLOCK_CPU", block)
        statistics = [AverageAttention(), Entropy(), Entropy(smoothing=0.1)]
        update_statistics(smollm2, Batch(examples, {}), statistics, {"decoder": (0, 29)}, streamed=True)
        collected.append([(name, values) for item in statistics for name, values in item.state().items()])
    assert len(collected[0]) == 6  # three statistics, two layers
    for (name, whole), (_, cut) in zip(*collected, strict=True):
        np.testing.assert_allclose(cut, whole, rtol=0, atol=1e-4, err_msg=name)


def test_sums_that_wait_on_a_device_are_taken_in_as_they_came():
    """What a GPU does: here the waiting list is filled by hand, since there is none."""
    at_once, waiting = Entropy(), Entropy()
    for layer in (0, 1):
        for start in (0, 2):
            key, heads, values = SumKey("encoder", layer, "entropy", ("cls",)), range(start, start + 2), torch.rand(2, 4)
            at_once.add(key, values.double().numpy(), heads)
            waiting._on_device.append((key, heads, values))
    assert waiting._sums == {}
    waiting.flush()
    assert waiting.sums.keys() == at_once.sums.keys()
    assert all((waiting.sums[key] == at_once.sums[key]).all() for key in at_once.sums)
