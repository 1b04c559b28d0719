"""The probes against a slow, obvious version, number by number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from eyeline.measure.probes.training import AttentionAndWords, AttentionOnly, DistancesAndWords, right_branching
from tests.reference import probes as reference

HEADS, DIMS = 6, 5
SPECIAL = pytest.mark.parametrize("n_special", [0, 1, 2])


def sentence(n: int, n_special: int, seed: int = 0) -> tuple[torch.Tensor, torch.Tensor]:
    random = torch.Generator().manual_seed(seed)
    maps = torch.rand(n + n_special, n + n_special, HEADS, generator=random).softmax(1)
    return maps, torch.randn(n, DIMS, generator=random)


def seeded(seed: int = 3) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def numbers(tensor: torch.Tensor) -> np.ndarray:
    return tensor.detach().double().numpy()


@SPECIAL
@pytest.mark.parametrize("n", [1, 2, 7])
def test_attention_only_scores_and_loss_are_those_of_the_slow_loop(n, n_special):
    maps, vectors = sentence(n, n_special)
    scorer = AttentionOnly(HEADS, n_special, seeded())
    torch.nn.init.uniform_(scorer.root)
    expected = reference.attention_only(numbers(maps), n, *numbers(scorer.weights), numbers(scorer.root))
    assert np.abs(numbers(scorer(maps, vectors)) - expected).max() < 1e-5
    gold = [(3 * j) % (n + 1) for j in range(n)]
    assert scorer.loss(maps, vectors, torch.tensor(gold)).item() == pytest.approx(reference.cross_entropy(expected, gold), abs=1e-5)


@SPECIAL
@pytest.mark.parametrize("n", [1, 2, 7])
def test_attention_and_words_scores_and_loss_are_those_of_the_slow_loop(n, n_special):
    maps, vectors = sentence(n, n_special)
    scorer = AttentionAndWords(HEADS, n_special, DIMS, seeded())
    torch.nn.init.uniform_(scorer.root)
    torch.nn.init.uniform_(scorer.bias)
    both = np.concatenate([numbers(scorer.of_candidate), numbers(scorer.of_dependent)]).T  # [direction · head, 2 · dim]
    bias = numbers(scorer.bias)
    u, w, u_bias, w_bias = both[:HEADS], both[HEADS:], bias[:HEADS], bias[HEADS:]
    expected = reference.attention_and_words(numbers(maps), numbers(vectors), u, w, u_bias, w_bias, numbers(scorer.root))
    assert np.abs(numbers(scorer(maps, vectors)) - expected).max() < 1e-5
    gold = [(3 * j) % (n + 1) for j in range(n)]
    assert scorer.loss(maps, vectors, torch.tensor(gold)).item() == pytest.approx(reference.cross_entropy(expected, gold), abs=1e-5)


@pytest.mark.parametrize("n", [1, 2, 7])
def test_distances_and_words_scores_and_loss_are_those_of_the_slow_loop(n):
    maps, vectors = sentence(n, 2)
    scorer = DistancesAndWords(DIMS, seeded())
    torch.nn.init.uniform_(scorer.bias)
    first = np.concatenate([numbers(p) for p in (scorer.of_distance, scorer.of_candidate, scorer.of_dependent)]).T
    expected = reference.distances_and_words(numbers(vectors), first, numbers(scorer.bias), numbers(scorer.out))
    assert np.abs(numbers(scorer(maps, vectors)) - expected).max() < 1e-5
    gold = [(3 * j) % (n + 1) for j in range(n)]
    assert scorer.loss(maps, vectors, torch.tensor(gold)).item() == pytest.approx(reference.cross_entropy(expected, gold), abs=1e-5)


def scorers(n_special: int) -> list[torch.nn.Module]:
    return [
        AttentionOnly(HEADS, n_special, seeded()),
        AttentionAndWords(HEADS, n_special, DIMS, seeded()),
        DistancesAndWords(DIMS, seeded()),
    ]


@SPECIAL
def test_every_parameter_learns_from_a_sentence(n_special):
    maps, vectors = sentence(6, n_special)
    for scorer in scorers(n_special):
        scorer.loss(maps, vectors, torch.tensor([2, 0, 2, 5, 3, 5])).backward()
        for name, parameter in scorer.named_parameters():
            assert parameter.grad is not None, name
            assert parameter.grad.abs().max() > 0, (type(scorer).__name__, name)


@SPECIAL
def test_a_word_may_be_given_to_root_and_training_makes_it_so(n_special):
    maps, vectors = sentence(4, n_special)
    governors = torch.tensor([0, 1, 1, 3])
    for scorer in scorers(n_special)[1:]:
        optimiser = torch.optim.Adam(scorer.parameters(), lr=0.05)
        for _ in range(300):
            optimiser.zero_grad()
            scorer.loss(maps, vectors, governors).backward()
            optimiser.step()
        assert scorer(maps, vectors).argmax(1).tolist() == governors.tolist(), type(scorer).__name__


def test_attention_only_finds_a_head_that_points_at_the_gold_arc():
    n, governors = 6, torch.tensor([2, 0, 2, 5, 3, 5])
    maps = torch.full((n + 2, n + 2, HEADS), 0.1)
    for j, governor in enumerate(governors.tolist()):
        maps[j, n if governor == 0 else governor - 1, 3] = 0.9  # head 3 looks from each word at its governor, from the root at [CLS]
    scorer = AttentionOnly(HEADS, 2, seeded())
    optimiser = torch.optim.Adam(scorer.parameters(), lr=0.05)
    for _ in range(200):
        optimiser.zero_grad()
        scorer.loss(maps, torch.zeros(n, DIMS), governors).backward()
        optimiser.step()
    assert scorer(maps, torch.zeros(n, DIMS)).argmax(1).tolist() == governors.tolist()
    assert int(scorer.weights[0].argmax()) == 3


def test_the_same_seed_gives_the_same_start():
    item, same, other = (AttentionAndWords(HEADS, 2, DIMS, seeded(seed)) for seed in (1, 1, 2))
    assert torch.equal(item.of_candidate, same.of_candidate)
    assert not torch.equal(item.of_candidate, other.of_candidate)


def test_right_branching_gives_the_last_word_to_root():
    assert right_branching(1).tolist() == [0]
    assert right_branching(4).tolist() == [2, 3, 4, 0]
