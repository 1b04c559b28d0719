"""How often each head of a model finds the governor, counted layer by layer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eyeline.analyses.grammar.relations import ALL, Gold
from eyeline.analyses.grammar.surest import Surest, SurestParts
from eyeline.analyses.word_maps import WordMaps
from eyeline.capture.inputs import send
from eyeline.measures.governors import at_offset, most_attended


@dataclass(frozen=True)
class TallySums:
    """What some sentences add to a tally. right: layer → [half, relation, head, direction]; surest: of these sentences, from index 0"""

    right: Mapping[int, np.ndarray]
    surest: SurestParts


@dataclass(frozen=True)
class _Words:
    """What the words of some sentences are scored against, one sentence after the other.

    n_words                    [sentence]
    governors, judged          [word], positions in the sentence
    relations, half            [word], the number of the relation; which half the sentence is in
    """

    n_words: np.ndarray
    governors: np.ndarray
    judged: np.ndarray
    relations: np.ndarray
    half: np.ndarray


class Tally:
    """How often each head was right about each relation, in each half of the sentences.

    golds, half   of each sentence: what its words are scored against, and which half it is in
    names         every relation of these sentences, "all" first; or those that are given, of more sentences than these
    right         layer → [half, relation, head, direction]
    """

    def __init__(self, golds: Sequence[Gold], half: Sequence[int], names: Sequence[str] | None = None) -> None:
        self.golds, self.half = golds, half
        self.names = [ALL, *sorted({name for gold in golds for name in gold.relations})] if names is None else list(names)
        self._right: dict[int, np.ndarray] = {}
        self._on_device: dict[int, torch.Tensor] = {}  # layer → [half, relation, head, direction], not yet added to `_right`
        self.surest = Surest(len(self.names))
        self._number = {name: number for number, name in enumerate(self.names)}
        self._batch: tuple[tuple[int, ...], tuple[torch.Tensor, ...]] | None = None

    @property
    def right(self) -> dict[int, np.ndarray]:
        """Copied from the model's device only when it is read: a GPU must wait for every copy."""
        waiting, self._on_device = self._on_device, {}
        for layer, sums in waiting.items():
            self._right[layer] = self._right.get(layer, 0) + sums.cpu().numpy()
        return self._right

    def update(self, maps: WordMaps) -> None:
        governors, judged, where, of_relation = self._gold_of(maps)
        words, weights = most_attended(maps.between_words)  # [sentence, head, direction, word]
        judged = judged[:, None, None].expand_as(words)
        right = (words.gather(-1, judged) == governors[:, None, None]) & where[:, None, None]
        n_heads = right.shape[1]
        flat = right.permute(1, 2, 0, 3).reshape(n_heads * 2, -1).to(of_relation.dtype)  # [head · direction, sentence · word]
        sums = (flat @ of_relation).reshape(n_heads, 2, 2, len(self.names)).permute(2, 3, 0, 1)  # [half, relation, head, direction]
        earlier = self._on_device.get(maps.layer)
        self._on_device[maps.layer] = sums.double() if earlier is None else earlier + sums.double()
        self.surest.update(maps, weights.gather(-1, judged), of_relation)

    def sums(self) -> TallySums:
        """What these sentences add to the tally of all sentences."""
        return TallySums(self.right, self.surest.parts())

    def merge(self, sums: TallySums, indices: Sequence[int]) -> None:
        """Add the sums of the sentences at these indices."""
        for layer, right in sums.right.items():
            self.right[layer] = self.right.get(layer, 0) + right
        self.surest.merge(sums.surest, indices)

    def only(self, kept: Sequence[int]) -> Tally:
        """The same tally without the sentences that are not kept, none of which may have been counted."""
        if len(kept) == len(self.golds):
            return self
        other = Tally([self.golds[index] for index in kept], [self.half[index] for index in kept], self.names)
        position_of = {index: position for position, index in enumerate(kept)}
        other.merge(self.sums(), [position_of.get(index, -1) for index in range(len(self.golds))])
        return other

    def _gold_of(self, maps: WordMaps) -> tuple[torch.Tensor, ...]:
        """Governors, judged words, which words are real, [sentence, word] each; and [sentence · word, half · relation]."""
        if self._batch is None or self._batch[0] != maps.sentences:
            width, device = maps.width, maps.weights.device
            shape = (len(maps.sentences), width)
            words = self._words_of(maps.sentences)
            inside = np.arange(width) < words.n_words[:, None]  # [sentence, word]
            governors, judged = np.full(shape, -9), np.zeros(shape, np.int64)
            governors[inside], judged[inside] = words.governors, words.judged
            of_relation = torch.zeros((shape[0] * width, 2, len(self.names)), dtype=torch.float32, device=device)
            where, half, relations = (send(numbers, device) for numbers in (inside.ravel().nonzero()[0], words.half, words.relations))
            of_relation[where, half, 0] = 1
            of_relation[where, half, relations] = 1
            tensors = (send(governors, device), send(judged, device), maps.inside, of_relation.flatten(1))
            self._batch = maps.sentences, tensors
        return self._batch[1]

    def _words_of(self, sentences: Sequence[int]) -> _Words:
        golds = [self.golds[sentence] for sentence in sentences]
        n_words = np.array([len(gold.governors) for gold in golds], np.int64)
        return _Words(
            n_words,
            np.array([position for gold in golds for position in gold.governors], np.int64),
            np.array([position for gold in golds for position in gold.judged], np.int64),
            np.array([self._number[name] for gold in golds for name in gold.relations], np.int64),
            np.repeat(np.array([self.half[sentence] for sentence in sentences], np.int64), n_words),
        )

    @cached_property
    def _words(self) -> _Words:
        """The words of all sentences."""
        return self._words_of(range(len(self.golds)))

    def counts(self) -> dict[str, int]:
        """How many words each relation has; "all" is not among them."""
        return dict(Counter(name for gold in self.golds for name in gold.relations))

    def totals(self) -> np.ndarray:
        """[half, relation]"""
        return np.stack([self._by_relation(self._words.half == half) for half in (0, 1)])

    def offsets_right(self, offsets: Sequence[int]) -> np.ndarray:
        """How often each fixed offset is right: [relation, offset]"""
        words = self._words
        n_words = np.repeat(words.n_words, words.n_words)  # [word], of its sentence
        return np.stack([self._by_relation(at_offset(words.judged, n_words, offset) == words.governors) for offset in offsets], -1)

    def _by_relation(self, chosen: np.ndarray) -> np.ndarray:
        """How many of the chosen words, [word] of all sentences, each relation has; the first number is "all": [relation]"""
        counts = np.bincount(self._words.relations[chosen], minlength=len(self.names)).astype(np.float64)
        counts[0] = chosen.sum()
        return counts
