"""How much of a head's attention is position alone."""

from __future__ import annotations

from collections import defaultdict

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.measure.corpus.position_alone import sum_diagonals
from eyeline.measure.statistics.loop import update_statistics
from eyeline.measure.statistics.statistic import roles_of
from eyeline.models.layout import check_layers
from eyeline.statistics import Batch, PositionAlone
from tests.laws.statistics import tiny_model
from tests.models.families import TINY, tiny_tokenizer

TEXTS = ["the cat sat on the mat .", "a dog ran home", "it purred , and sat on a very long mat , and ran , and purred ."]


def slow_share(maps: list[np.ndarray]) -> float:
    """The same number by plain loops over every pair of every text: maps [query, key] of one head, the lower triangle of a decoder."""
    by_distance: dict[int, list[float]] = defaultdict(list)
    for weights in maps:
        for query in range(len(weights)):
            for key in range(len(weights)):
                by_distance[key - query].append(float(weights[query, key]))
    mean = {distance: sum(weights) / len(weights) for distance, weights in by_distance.items()}
    total = sum(weight**2 for weights in by_distance.values() for weight in weights)
    return sum(len(weights) * mean[distance] ** 2 for distance, weights in by_distance.items()) / total


def decoder() -> el.Model:
    torch.manual_seed(0)
    hf = t.AutoModel.from_config(t.LlamaConfig(**TINY), attn_implementation="eager").eval()
    with torch.no_grad():
        for parameter in hf.parameters():
            parameter.mul_(6)
    return el.wrap(hf, tiny_tokenizer(), name="decoder")


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize("model", [tiny_model, decoder])
def test_it_is_the_number_of_a_plain_loop_over_all_pairs(model, streamed):
    model = model()
    statistic = PositionAlone()
    examples = tuple(model.read(text) for text in TEXTS)
    update_statistics(model, Batch(examples, roles_of(model.tokenizer)), [statistic], check_layers(model.layout, None), streamed=streamed)
    traces = [model.trace(text) for text in TEXTS]
    rows = list(statistic.result()["position_alone"].rows())
    assert len(rows) == traces[0].weights.shape[0] * traces[0].weights.shape[1]
    for row in rows:
        maps = [np.asarray(trace.weights[int(row["layer"]), int(row["head"])], np.float64) for trace in traces]
        assert row["share"] == pytest.approx(slow_share(maps), rel=1e-4)


def test_long_texts_are_added_block_of_rows_by_block_of_rows(monkeypatch):
    monkeypatch.setattr("eyeline.measure.statistics.rows.BLOCK_CPU", 60)
    test_it_is_the_number_of_a_plain_loop_over_all_pairs(tiny_model, True)


def test_a_sum_over_a_diagonal_is_that_of_numpy():
    maps = np.random.default_rng(0).random((2, 3, 5))
    sums = sum_diagonals(torch.from_numpy(maps)).numpy()
    for column, distance in enumerate(range(-2, 5)):
        np.testing.assert_allclose(sums[:, column], [np.trace(head, distance) for head in maps])


def test_longer_texts_are_left_out_and_counted():
    run = el.analyse(tiny_model(), TEXTS, [PositionAlone(longest=10)])
    short = el.analyse(tiny_model(), TEXTS[:2], [PositionAlone(longest=10)])
    np.testing.assert_allclose(run.table("position_alone")["share"], short.table("position_alone")["share"], rtol=1e-6)
