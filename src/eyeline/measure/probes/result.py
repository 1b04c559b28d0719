"""What a probe says of one sentence: how likely each word governs each other, the best tree, and the heads behind every arc."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from eyeline.errors import TextError
from eyeline.heads import ARC_DIRECTIONS, HeadRef
from eyeline.measure.runs.table import Table
from eyeline.words import percent

ROOT = "ROOT"


@dataclass(frozen=True)
class HeadWeight:
    """What one head, in one direction, adds to the score of one arc.

    attention      of the head between the two words, in this direction
    weight         that the probe gives the head for these two words
    contribution   attention · weight; summed over heads and directions, the score of the arc
    """

    head: HeadRef
    direction: str
    attention: float
    weight: float
    contribution: float


@dataclass(frozen=True)
class Parse:
    """A sentence as a probe reads it. Candidate 0 is ROOT, candidate i + 1 is word i; words are named by text or by index.

    probe, model   by name
    heads          of the model, in the order of the last axis below
    attention      [dependent, candidate, direction, head]
    weights        [dependent, candidate, direction, head]: the weight that the probe gives each head for these two words
    """

    words: tuple[str, ...]
    probe: str
    model: str
    heads: tuple[HeadRef, ...] = field(repr=False)
    attention: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)

    @cached_property
    def scores(self) -> np.ndarray:
        """Σ over heads and directions of weight · attention: [dependent, candidate]"""
        return np.asarray((self.weights * self.attention).sum((2, 3), dtype=np.float64))

    @cached_property
    def probabilities(self) -> np.ndarray:
        """p(candidate | dependent): [dependent, candidate]"""
        return governor_probabilities(self.scores)

    @cached_property
    def governors(self) -> tuple[int, ...]:
        """The governor of each word in the best tree: the index of a word, or -1 for ROOT."""
        return best_tree(self.scores)

    def governor(self, word: str | int) -> str:
        """The governor of a word in the best tree."""
        return self._text(self.governors[self._index(word)])

    def distribution(self, word: str | int) -> Table:
        """How likely each candidate governs a word, the likeliest first."""
        row = self.probabilities[self._index(word)]
        order = np.argsort(-row, kind="stable")
        return Table({
            "governor": [self._text(int(i) - 1) for i in order],
            "index": [int(i) - 1 for i in order],
            "probability": [float(row[i]) for i in order],
        })  # fmt: skip

    def indices(self, dependent: str | int, governor: str | int) -> tuple[int, int]:
        """A pair of words as their indices; -1 for ROOT."""
        return self._index(dependent), -1 if governor in (ROOT, -1) else self._index(governor)

    def pair(self, dependent: str | int, governor: str | int) -> list[HeadWeight]:
        """Every head for one pair of words, such as ("The", "cat"), the largest contribution first. governor: a word, or "ROOT"."""
        row, column = self.indices(dependent, governor)
        column += 1
        attention, weights = self.attention[row, column], self.weights[row, column]  # [direction, head]
        every = [
            HeadWeight(head, direction, float(attention[d, k]), float(weights[d, k]), float(attention[d, k] * weights[d, k]))
            for d, direction in enumerate(ARC_DIRECTIONS)
            for k, head in enumerate(self.heads)
        ]
        return sorted(every, key=lambda weight: -abs(weight.contribution))

    def contributors(self, word: str | int, n: int = 3) -> list[HeadWeight]:
        """The heads that contributed most to the governor of a word in the best tree."""
        index = self._index(word)
        return sorted(self.pair(index, self.governors[index]), key=lambda weight: -weight.contribution)[:n]

    def table(self, n_heads: int = 3) -> Table:
        """A row for each word: its governor in the tree, how likely it is, and the heads that contributed most to it."""
        return Table.from_rows([
            {
                "index": index,
                "word": word,
                "governor": self._text(self.governors[index]),
                "governor_index": self.governors[index],
                "probability": float(self.probabilities[index, self.governors[index] + 1]),
                "heads": " ".join(f"{weight.head} {weight.contribution:+.2f}" for weight in self.contributors(index, n_heads)),
            }
            for index, word in enumerate(self.words)
        ])  # fmt: skip

    def __str__(self) -> str:
        rows = list(self.table().rows())
        width = max(len(str(row["word"])) for row in rows)
        return "\n".join(f"{row['word']:<{width}} ← {row['governor']} ({percent(float(row['probability']))})" for row in rows)

    def _text(self, index: int) -> str:
        return ROOT if index < 0 else self.words[index]

    def _index(self, word: str | int) -> int:
        if not isinstance(word, str | int) or isinstance(word, bool):
            raise TextError(f"A word given as {type(word).__name__}.", "Give the word itself, or its index, counted from 0.")
        if isinstance(word, int):
            if not 0 <= word < len(self.words):
                raise TextError(f"No word {word} in this sentence.", f"It has {len(self.words)} words, counted from 0.")
            return word
        indices = _matches(self.words, word)
        if len(indices) != 1:
            listed = ", ".join(f"{index} {text}" for index, text in enumerate(self.words))
            problem = f"{word!r} is at {', '.join(map(str, indices))}." if indices else f"No word {word!r} in this sentence."
            raise TextError(problem, f"Give the index of a word: {listed}")
        return indices[0]


def _matches(words: Sequence[str], word: str) -> list[int]:
    """The indices of a word: as it is written, else without regard to capitals."""
    exact = [index for index, text in enumerate(words) if text == word]
    return exact or [index for index, text in enumerate(words) if text.lower() == word.lower()]


# ---- The best dependency tree


def governor_probabilities(scores: np.ndarray) -> np.ndarray:
    """How likely each candidate is the governor of each word.

        p(i | j) = exp s[j, i] / Σ_i' exp s[j, i']

    scores: [dependent, candidate], candidate 0 is ROOT and candidate i + 1 is word i → the same shape; each row sums to 1.

    >>> governor_probabilities(np.zeros((1, 2))).tolist()
    [[0.5, 0.5]]
    """
    shifted = np.exp(scores - scores.max(-1, keepdims=True))
    return np.asarray(shifted / shifted.sum(-1, keepdims=True))


def best_tree(scores: np.ndarray) -> tuple[int, ...]:
    """The tree with the largest sum of log p(governor | word): Chu-Liu/Edmonds, by networkx.

    Exactly one word depends on ROOT, and no word governs itself. scores: [dependent, candidate]. Gives the governor of each word:
    the index of a word, or -1 for ROOT.

    >>> best_tree(np.log([[0.1, 0.1, 0.8], [0.6, 0.3, 0.1]]))
    (1, -1)
    """
    import networkx

    n_words = len(scores)
    if n_words < 2:
        return (-1,) * n_words
    logs = np.log(np.maximum(governor_probabilities(scores), 1e-300))  # [dependent, candidate]
    penalty = n_words * float(np.ptp(logs)) + 1  # each arc from ROOT costs more than all other arcs together: one is taken
    graph = networkx.DiGraph()
    for dependent, row in enumerate(logs.tolist()):
        for candidate, log in enumerate(row):
            if candidate != dependent + 1:
                graph.add_edge(candidate, dependent + 1, weight=log - (0 if candidate else penalty))
    tree = networkx.maximum_spanning_arborescence(graph)
    governors = {dependent: governor for governor, dependent in tree.edges}
    return tuple(governors[word + 1] - 1 for word in range(n_words))
