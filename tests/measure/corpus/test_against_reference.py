"""The statistics against the paper's formulas written out slowly, on real maps of the embedded models."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.statistics import AverageAttention, Entropy, HeadDistances, js_between_heads
from tests.reference import corpus as slow
from tests.reference import distances as slow_distances

TEXTS = [
    "The cat sat on the mat, and it purred.",
    ("Where is the cat?", "It sleeps, as always, on the warm kitchen floor."),
    "Attention, they say, is all you need.",
]


@pytest.fixture(scope="module")
def minilm_run(minilm: el.Model) -> el.Run:
    return el.analyse(minilm, TEXTS, [AverageAttention(), Entropy(), HeadDistances()])


def test_average_attention_is_the_papers(minilm: el.Model, minilm_run: el.Run) -> None:
    expected = slow.average_attention(minilm.traces(TEXTS), minilm.tokenizer.sep_token_id)
    rows = [row for row in minilm_run.table("average_attention").rows() if row["target"] not in ("cls", "special")]
    assert len(rows) == len(expected) == 6 * 12 * 9
    for row in rows:
        assert row["mean"] == pytest.approx(expected[row["layer"], row["head"], row["target"]], abs=2e-6)


def test_special_and_other_and_punctuation_share_out_all_attention(minilm_run: el.Run) -> None:
    table = minilm_run.table("average_attention")
    total = sum(table.where(target=target)["mean"] for target in ("special", "other", "punctuation"))
    np.testing.assert_allclose(total, 1, atol=1e-5)
    both = table.where(target="cls")["mean"] + table.where(target="sep")["mean"]
    np.testing.assert_allclose(table.where(target="special")["mean"], both, atol=1e-6)


@pytest.mark.parametrize("smoothing", [0.0, 0.0001])
def test_entropy_is_the_papers(minilm: el.Model, smoothing: float) -> None:
    run = el.analyse(minilm, TEXTS, [Entropy(smoothing)])
    expected = slow.entropy(minilm.traces(TEXTS), smoothing=smoothing)
    assert len(expected) == len(run.table("entropy")) == 72
    for row in run.table("entropy").rows():
        assert (row["all"], row["cls"], row["uniform"]) == pytest.approx(expected[row["layer"], row["head"]], abs=2e-5)


def test_the_papers_smoothing_moves_entropy_by_less_than_we_say(minilm: el.Model) -> None:
    plain, smooth = (el.analyse(minilm, TEXTS, [Entropy(s)]).table("entropy")["all"] for s in (0.0, 0.0001))
    assert 0 < np.abs(plain - smooth).max() < 0.0016


def test_a_decoder_has_neither_next_nor_special_tokens_and_a_causal_uniform_line(smollm2: el.Model) -> None:
    texts = [text for text in TEXTS if isinstance(text, str)]
    run = el.analyse(smollm2, texts, [AverageAttention(), Entropy()])
    assert set(run.table("average_attention").columns["target"]) == {"punctuation", "first", "other", "previous", "self"}
    traces = smollm2.traces(texts)
    expected = slow.average_attention(traces, None, causal=True)
    for row in run.table("average_attention").rows():
        assert row["mean"] == pytest.approx(expected[row["layer"], row["head"], row["target"]], abs=5e-6)
    by_head = slow.entropy(traces, causal=True)
    for row in run.table("entropy").rows():
        assert (row["all"], row["last"], row["uniform"]) == pytest.approx(by_head[row["layer"], row["head"]], abs=1e-4)


def test_distances_are_the_mean_over_rows_of_the_plain_loop(minilm: el.Model, minilm_run: el.Run) -> None:
    traces = minilm.traces(TEXTS)
    maps = [trace.stacks["encoder"].weights.reshape(72, len(trace.text), len(trace.text)) for trace in traces]
    expected = sum(slow_distances.js_between_heads(each) for each in maps) / sum(each.shape[1] for each in maps)
    table = minilm_run.table("distances")
    assert list(table.columns) == ["head", *table.columns["head"]]
    assert table.columns["head"][13] == "L1·H1"
    result = np.array([table[name] for name in table.columns["head"]])
    np.testing.assert_allclose(result, expected, atol=1e-6)


@pytest.mark.parametrize(("heads", "rows", "keys"), [(1, 1, 1), (2, 3, 5), (7, 40, 300), (3, 1, 5000)])
def test_blocked_distances_are_the_plain_loop(heads: int, rows: int, keys: int) -> None:
    torch.manual_seed(heads)
    weights = torch.randn(heads, rows, keys).mul(3).softmax(-1)
    actual = js_between_heads(weights).numpy() / rows
    np.testing.assert_allclose(actual, slow_distances.js_between_heads(weights.numpy()) / rows, atol=1e-6)
    assert (actual == actual.T).all()
    assert (actual.diagonal() == 0).all()


def test_heads_on_different_tokens_are_log_two_apart() -> None:
    weights = torch.eye(2)[:, None]  # each head on one token of its own
    assert float(js_between_heads(weights, smoothing=0)[0, 1]) == pytest.approx(np.log(2), abs=1e-6)
