"""The best tree: beside brute force over all trees of four words."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from eyeline.measure.probes.result import best_tree, governor_probabilities


def trees(n: int) -> list[tuple[int, ...]]:
    """Every tree over n words with one root: governors, -1 for ROOT."""

    def reaches_root(governors: tuple[int, ...], word: int) -> bool:
        for _ in range(n):
            if governors[word] < 0:
                return True
            word = governors[word]
        return False

    return [
        governors
        for governors in itertools.product(range(-1, n), repeat=n)
        if governors.count(-1) == 1 and all(reaches_root(governors, word) for word in range(n))
    ]


def test_there_are_64_trees_of_four_words():
    assert len(trees(4)) == 64  # Cayley: n ** (n - 1)


@pytest.mark.parametrize("seed", range(40))
def test_the_best_tree_is_the_best_of_all_trees(seed):
    scores = np.random.default_rng(seed).normal(size=(4, 5)) * 4
    logs = np.log(governor_probabilities(scores))
    best = max(trees(4), key=lambda governors: sum(logs[word, governor + 1] for word, governor in enumerate(governors)))
    assert best_tree(scores) == best


def test_a_cycle_of_best_governors_is_broken_and_only_one_word_depends_on_root():
    scores = np.array([[0.0, -9, 5, 0], [0, 5, -9, 0], [9, 0, 0, -9]])  # the first two words choose each other
    governors = best_tree(scores)
    assert governors.count(-1) == 1
    assert governors in trees(3)


def test_a_single_word_depends_on_root():
    assert best_tree(np.zeros((1, 2))) == (-1,)
