"""AttentionViz' gauge counts every pair of a query and a key: the seed does not matter, and a slow reference agrees."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from tests.laws.statistics import tiny_model
from tests.reference import gauge as slow

TEXTS = ["the cat sat on the mat .", "a dog ran home , and it purred .", "the dog and the cat ran a very long way home ."]


@pytest.mark.slow
def test_two_seeds_give_the_same_scale_and_correlations():
    first, second = (el.space(tiny_model(), TEXTS, project="pca", gauge="attentionviz", seed=seed).only.facts for seed in (0, 1))
    for name in ("scale", "correlation_before", "correlation_after"):
        np.testing.assert_array_equal(first[name], second[name])


@pytest.mark.parametrize("gauge", ["attentionviz", "none"])
def test_correlations_are_those_of_all_pairs(gauge):
    model = tiny_model()
    stack = el.space(model, TEXTS, project="pca", gauge=gauge).only
    traces = model.traces(TEXTS)
    for layer, head in ((0, 1), (2, 3)):
        raw = [(trace.queries[layer, head], trace.keys[layer, head], trace.weights[layer, head]) for trace in traces]
        raw = [tuple(array.astype(np.float64) for array in text) for text in raw]
        assert stack.facts["correlation_before"][layer, head] == pytest.approx(slow.distance_correlation(raw), abs=1e-6)
        if gauge == "none":
            assert stack.facts["correlation_after"][layer, head] == pytest.approx(slow.distance_correlation(raw), abs=1e-6)
            continue
        shift = np.concatenate([q for q, _, _ in raw]).mean(0) - np.concatenate([k for _, k, _ in raw]).mean(0)
        scale = float(stack.facts["scale"][layer, head])
        # the dot product is the model's own, the distance that of the gauge
        pairs = [
            (a @ b, np.linalg.norm(scale * a - (b + shift) / scale), w[i, j])
            for q, k, w in raw
            for i, a in enumerate(q)
            for j, b in enumerate(k)
        ]
        dots, distances, weights = np.array(pairs).T
        both = np.cov(dots, distances, aweights=weights)
        assert stack.facts["correlation_after"][layer, head] == pytest.approx(both[0, 1] / np.sqrt(both[0, 0] * both[1, 1]), abs=1e-6)


@pytest.mark.slow
def test_a_gauge_that_is_worse_than_none_is_named_and_the_searched_one_never_is():
    import eyeline as el
    from tests.laws.statistics import tiny_model

    texts = ["the cat sat on the mat . it purred , and sat .", "a dog ran a very long way home , and it sat ."]
    for gauge in ("attentionviz", "searched", "none"):
        space = el.space(tiny_model(), texts, project="pca", gauge=gauge)
        before, after = (space.only.facts[name] for name in ("correlation_before", "correlation_after"))
        assert any("worse than none" in notice for notice in space.facts.notices) == (after.mean() > before.mean())
        if gauge == "searched":
            assert (after <= before + 1e-9).all()
            assert space.facts.gauge_check.holds
