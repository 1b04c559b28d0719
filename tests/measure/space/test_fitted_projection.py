"""Pictures fitted to attention: they find the picture where there is one, and place what they have not seen."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from eyeline.measure.space.fidelity import nearness, rank_of_most_attended
from eyeline.measure.space.fit import HeadText, PlaneProjections, divergence, fit_projections, free_texts, gradients_of, in_chunks

HEADS, DIM = 3, 6


def texts(n: int = 8, seed: int = 0, causal: bool = False, flat: bool = True) -> list[HeadText]:
    """Attention of heads that are pictures: softmax of −‖x − y‖² of two of the six directions (or of all of them: flat=False)."""
    generator = torch.Generator().manual_seed(seed)
    turn = torch.linalg.qr(torch.randn(HEADS, DIM, DIM, generator=torch.Generator().manual_seed(9)))[0]
    results = []
    for size in range(5, 5 + 3 * n, 3):
        queries, keys = (torch.randn(HEADS, size, DIM, generator=generator) for _ in range(2))
        keep = slice(2) if flat else slice(DIM)
        x, y = 2 * queries @ turn[..., keep], 2 * keys @ turn[..., keep]
        logits = 2 * x @ y.mT - y.square().sum(-1)[:, None]
        visible = torch.ones(1, size, size, dtype=torch.bool).tril() if causal else None
        if visible is not None:
            logits = logits.masked_fill(~visible, -torch.inf)
        results.append(HeadText(queries, keys, torch.softmax(logits, -1), visible))
    return results


def mean_divergence(where: list[HeadText], placed) -> torch.Tensor:
    return torch.cat([divergence(text, *points) for text, points in zip(where, placed, strict=True)], 1).mean(1)  # [head]


def nearest(where: list[HeadText], placed) -> float:
    ranks = [
        rank_of_most_attended(nearness(x.numpy(), y.numpy()), text.weights.numpy(), None if text.visible is None else text.visible.numpy())
        for text, (x, y) in zip(where, placed, strict=True)
    ]
    valid = [item[item >= 0] for item in ranks]
    return sum(int((item == 0).sum()) for item in valid) / sum(item.size for item in valid)


@pytest.mark.parametrize("causal", [False, True])
def test_a_head_that_is_a_picture_is_found_and_unseen_texts_are_placed_in_it(causal):
    shown, unseen = texts(12, causal=causal), texts(6, seed=1, causal=causal)
    maps = fit_projections(shown, torch.ones(HEADS), starts=6, steps=300)
    for where in (shown, unseen):
        placed = [maps.project(text) for text in where]
        assert mean_divergence(where, placed).max() < 0.05
        assert nearest(where, placed) > 0.9


def test_freed_points_lose_less_than_the_projections_and_stay_in_order():
    shown = texts(6, flat=False)
    maps = fit_projections(shown, torch.ones(HEADS), starts=4, steps=200)
    fitted, freed = [maps.project(text) for text in shown], free_texts(shown, maps)
    assert (mean_divergence(shown, freed) < mean_divergence(shown, fitted)).all()
    assert nearest(shown, freed) > nearest(shown, fitted)


def test_gradients_are_those_of_autograd():
    for text in (texts(2)[1], texts(2, causal=True)[1]):
        x, y = (torch.randn(HEADS, size, 2, dtype=torch.float64, requires_grad=True) for size in text.weights.shape[1:])
        exact = replace(text, weights=text.weights.double())
        divergence(exact, x, y).sum().backward()
        gx, gy, rows = gradients_of(exact, x.detach(), y.detach())
        assert torch.allclose(gx, x.grad, atol=1e-6)
        assert torch.allclose(gy, y.grad, atol=1e-6)
        assert rows == x.shape[1]


def test_the_same_seed_gives_the_same_projections_for_any_number_of_threads():
    shown, before = texts(3), torch.get_num_threads()
    collected = []
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            collected.append(fit_projections(shown, torch.ones(HEADS), starts=2, steps=20, seed=5))
    finally:
        torch.set_num_threads(before)
    assert torch.equal(collected[0].query, collected[1].query)
    assert torch.equal(collected[0].offset, collected[1].offset)
    other = fit_projections(shown, torch.ones(HEADS), starts=2, steps=20, seed=6)
    assert not torch.equal(collected[0].query, other.query)


@pytest.mark.parametrize("dead", ["keys", "queries", "both"])
def test_a_dead_head_is_fitted_without_nonsense_and_leaves_the_others_alone(dead):
    def killed(text: HeadText) -> HeadText:
        queries, keys, weights = text.queries.clone(), text.keys.clone(), text.weights.clone()
        for side in (queries,) if dead == "queries" else (keys,) if dead == "keys" else (queries, keys):
            side[1] = 0.5
        weights[1] = 1 / weights.shape[-1]
        return HeadText(queries, keys, weights)

    shown = [killed(text) for text in texts(6)]
    maps = fit_projections(shown, torch.ones(HEADS), starts=4, steps=250)
    placed = [maps.project(text) for text in shown]
    lost = mean_divergence(shown, placed)
    assert torch.isfinite(lost).all()
    assert lost.max() < 0.05
    assert all(torch.isfinite(point).all() for entry in (placed, free_texts(shown, maps)) for points in entry for point in points)


def test_one_token_texts_change_nothing_but_are_placed():
    first = HeadText(torch.randn(HEADS, 1, DIM), torch.randn(HEADS, 1, DIM), torch.ones(HEADS, 1, 1))
    shown = [*texts(3), first]
    maps = fit_projections(shown, torch.ones(HEADS), starts=2, steps=30)
    assert divergence(first, *maps.project(first)).abs().max() < 1e-6


def test_a_row_that_sees_nothing_costs_nothing():
    text = texts(1)[0]
    visible = torch.ones(1, 5, 5, dtype=torch.bool)
    visible[:, 2] = False
    blind = HeadText(text.queries, text.keys, text.weights * visible, visible)
    maps = PlaneProjections(torch.randn(HEADS, DIM, 2), torch.randn(HEADS, DIM, 2), torch.zeros(HEADS, 2))
    x, y = maps.project(blind)
    gx, _, rows = gradients_of(blind, x, y)
    assert rows == 4
    assert gx[:, 2].abs().max() == 0
    assert divergence(blind, x, y)[:, 2].abs().max() == 0


def test_heads_are_split_evenly_and_none_is_lost():
    for n in (1, 5, 24, 25, 72, 144, 270):
        chunks = in_chunks(n)
        assert [i for chunk in chunks for i in range(n)[chunk]] == list(range(n))
