"""The mathematics of quantities beside attention, against slow or independent computations."""

from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch

from eyeline.measure.causes.blocks import share_bias, through_activation
from eyeline.measure.causes.faithfulness import aopc, comprehensiveness, sufficiency, top_tokens
from eyeline.measure.causes.quantities import attention_flow, relevance, rollout, with_residual


def random_maps(layers: int, n: int, seed: int = 0) -> np.ndarray:
    return np.random.default_rng(seed).dirichlet(np.ones(n), size=(layers, n))  # [layer, query, key]


def test_flow_is_that_of_networkx() -> None:
    maps = with_residual(random_maps(3, 4))
    graph = networkx.DiGraph()
    for layer, query, key in np.ndindex(*maps.shape):
        graph.add_edge((layer + 1, query), (layer, key), capacity=float(maps[layer, query, key]))
    flows = attention_flow(maps)
    for query in range(4):
        for key in range(4):
            assert flows[query, key] == pytest.approx(networkx.maximum_flow_value(graph, (3, query), (0, key)), abs=1e-4)


def test_flow_of_one_query_leaves_the_others_at_zero() -> None:
    maps = with_residual(random_maps(2, 3))
    some = attention_flow(maps, queries=[1])
    assert np.array_equal(some[1], attention_flow(maps)[1])
    assert not some[[0, 2]].any()


def test_rows_of_a_rollout_sum_to_one() -> None:
    assert np.allclose(rollout(with_residual(random_maps(4, 5))).sum(axis=-1), 1)


def test_relevance_of_gradients_below_zero_is_the_identity() -> None:
    weights = random_maps(2, 3)[:, None]
    assert np.array_equal(relevance(weights, -np.ones_like(weights))[-1], np.eye(3))


def test_parts_with_their_shares_of_the_bias_add_up() -> None:
    parts, bias = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0)), torch.arange(5.0)
    assert torch.allclose(share_bias(parts, bias).sum(1), parts.sum(1) + bias, atol=1e-5)
    assert torch.allclose(share_bias(torch.zeros(1, 4, 5), bias).sum(1)[0], bias)


def test_parts_through_an_activation_add_up_to_what_left_it() -> None:
    parts = torch.randn(3, 4, 5, generator=torch.Generator().manual_seed(0))
    whole = parts.sum(1)
    assert torch.allclose(through_activation(parts, whole, torch.tanh(whole)).sum(1), torch.tanh(whole), atol=1e-5)


def test_the_first_of_equal_tokens_is_taken_away_first_and_at_least_one() -> None:
    assert top_tokens(np.zeros(5), [1, 2, 3], 0.01) == (1,)
    assert top_tokens(np.array([9.0, 0, 1, 2]), [1, 2, 3], 1.0) == (3, 2, 1)


def test_an_answer_that_does_not_move_has_no_faithfulness() -> None:
    assert comprehensiveness(0.5, [0.5, 0.5]) == sufficiency(0.5, [0.5]) == aopc(0.5, [0.5, 0.5]) == 0
