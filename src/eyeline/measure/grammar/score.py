"""Heads as finders of governors: the word that each head picks, how often it is right, and the sentences on which it is most sure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch

from eyeline.measure.engines.local import PartsOutcome, run_parts
from eyeline.measure.engines.processes import Engine
from eyeline.measure.engines.work import Part, ShardResult, Work, parts_of
from eyeline.measure.grammar.result import ALL, Gold
from eyeline.measure.runs.progress import ReportWork
from eyeline.measure.statistics.prepare import BatchSize
from eyeline.measure.statistics.word_maps import WordMaps, word_maps_of_batch
from eyeline.models.inputs import Example, send
from eyeline.models.model import Model
from eyeline.models.tracing import in_batches

#: The offsets that the fixed baseline of the paper may choose from, and those of the wider one, for relations between distant words.
OFFSETS, WIDE_OFFSETS = (-3, -2, -1, 0, 1, 2), tuple(range(-20, 21))

#: What a head predicts for a word whose weights are all 0: no word, which counts as wrong.
NO_WORD = -2


def most_attended(weights: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    """The word that each word attends to most, and the word that attends to it most; and with what weight.

        dependent → governor   argmax_j A[d, j]         governor → dependent   argmax_j A[j, d]         with A[d, d] = 0

    weights: [..., word, word], special tokens left out, not normalised again → words and weights, both [..., 2, word]. Where all is zero
    (the first word of a causal model sees nothing else) the word is NO_WORD.

    >>> most_attended(torch.tensor([[0.9, 0.1, 0.0], [0.3, 0.1, 0.5], [0.2, 0.1, 0.7]]))[0].tolist()
    [[1, 2, 0], [1, 0, 1]]
    """
    n = weights.shape[-1]
    others = weights.masked_fill(torch.eye(n, dtype=torch.bool, device=weights.device), 0)  # [..., word, word]
    attended, attending = others.max(-1), others.max(-2)
    best = torch.stack([attended.values, attending.values], -2)  # [..., direction, word]
    words = torch.stack([attended.indices, attending.indices], -2)
    return words.masked_fill(best <= 0, NO_WORD), best


def at_offset(positions: np.ndarray, n_words: np.ndarray | int, offset: int) -> np.ndarray:
    """The governor that a fixed offset predicts for each word: the word at position + offset, -1 (the root) before the first word.

        clamp(i + offset, 0, n) with i counted from 1, and 0 the root; positions and results here count from 0, and -1 is the root

    positions, n_words: the position of each word, from 0, and the number of words in its sentence: [word] → [word]

    >>> at_offset(np.arange(4), 4, 2).tolist(), at_offset(np.arange(4), 4, -2).tolist()
    ([2, 3, 3, 3], [-1, -1, 0, 1])
    """
    predicted: np.ndarray = np.clip(positions + 1 + offset, 0, n_words) - 1
    return predicted


def best_offset(right: Sequence[int], offsets: Sequence[int] = OFFSETS) -> int:
    """The offset that is right most often; of equally good ones, the nearest to 0. right: how often each of the offsets is right."""
    return min(zip(right, offsets, strict=True), key=lambda pair: (-pair[0], abs(pair[1])))[1]


# ---- How often each head is right


@dataclass(frozen=True)
class TallySums:
    """What some sentences add to a tally. right: layer → [half, relation, head, direction]; surest: of these sentences, from index 0"""

    right: Mapping[int, np.ndarray]
    surest: SurestParts


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


# ---- The sentences on which each head is most sure


#: The fewest and the most words of an example: enough to choose from, few enough to be drawn.
SHORTEST, LONGEST = 4, 14

#: How many sentences are kept for each relation: more than are drawn, since treebanks repeat themselves ("Thank you.").
KEPT = 6

#: Layer → how sure, which sentence: [relation, head, direction, kept].
SurestParts = Mapping[int, tuple[np.ndarray, np.ndarray]]


class Surest:
    """For every relation, head and direction, the short sentences in which its predictions for that relation carry most attention.

    How sure: the mean, over the words of that relation, of the weight of the prediction, right or wrong.
    """

    def __init__(self, n_relations: int) -> None:
        self.n_relations = n_relations
        self._batch: tuple[tuple[int, ...], tuple[torch.Tensor, ...] | None] | None = None
        self._best: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}  # layer → how sure, which sentence: [relation, head, direction, kept]

    def update(self, maps: WordMaps, weights: torch.Tensor, of_relation: torch.Tensor) -> None:
        """weights: of the predictions [sentence, head, direction, word]; of_relation: [sentence · word, half · relation]"""
        of_batch = self._of(maps, of_relation)
        if of_batch is None:
            return
        short, member, count, sentences = of_batch
        sure = (weights[short] @ member[:, None].to(weights.dtype)) / count  # [sentence, head, direction, relation]
        sure = sure.masked_fill(count == 0, -1).permute(3, 1, 2, 0)  # [relation, head, direction, sentence]
        which = sentences.expand_as(sure)
        self._keep_surest(maps.layer, sure, which)

    def _keep_surest(self, layer: int, sure: torch.Tensor, which: torch.Tensor) -> None:
        """Keep the surest; of equals, those that came first. sure, which: [relation, head, direction, sentence]"""
        if layer in self._best:
            sure, which = torch.cat([self._best[layer][0], sure], -1), torch.cat([self._best[layer][1], which], -1)
        order = sure.argsort(dim=-1, descending=True, stable=True)[..., :KEPT]
        self._best[layer] = sure.gather(-1, order), which.gather(-1, order)

    def parts(self) -> SurestParts:
        """The surest sentences so far, to be merged with those of another part."""
        return {layer: (sure.cpu().numpy(), which.cpu().numpy()) for layer, (sure, which) in self._best.items()}

    def merge(self, parts: SurestParts, indices: Sequence[int]) -> None:
        """Merge the surest sentences of another part. indices: for its sentences 0, 1, …, their indices here."""
        index_here = torch.tensor(indices)
        for layer, (sure, which) in parts.items():
            if layer in self._best:
                self._best[layer] = (self._best[layer][0].cpu(), self._best[layer][1].cpu())
            self._keep_surest(layer, torch.from_numpy(sure), index_here[torch.from_numpy(which)])

    def _of(self, maps: WordMaps, of_relation: torch.Tensor) -> tuple[torch.Tensor, ...] | None:
        """What is the same for every layer of a batch: its short sentences [sentence], which words have which relation
        [sentence, word, relation], how many have it [sentence, 1, 1, relation], and the indices of the sentences [sentence]."""
        if self._batch is None or self._batch[0] != maps.sentences:
            short = [index for index, n in enumerate(maps.n_words) if SHORTEST <= n <= LONGEST]
            device = of_relation.device
            chosen, sentences = send(np.array(short, np.int64), device), send(np.array(maps.sentences)[short], device)
            member = of_relation.reshape(len(maps.sentences), maps.width, 2, self.n_relations).sum(2)[chosen]
            self._batch = maps.sentences, (chosen, member, member.sum(1)[:, None, None], sentences) if short else None
        return self._batch[1]

    def sentences(self, relation: int, layer: int, head: int, direction: int) -> list[int]:
        """The indices of the sentences, surest first."""
        if layer not in self._best:
            return []
        sure, which = (part[relation, head, direction].tolist() for part in self._best[layer])
        return [number for number, value in zip(which, sure, strict=True) if value > 0]


# ---- The work for any engine


@dataclass(frozen=True)
class GoldSentence:
    """A sentence to score heads on: its tokens, what its words are scored against, and which half it is in."""

    example: Example
    gold: Gold
    half: int


@dataclass(frozen=True)
class SyntaxWork(Work[Part[GoldSentence], TallySums]):
    """Scores the heads of these layers (None: all) on sentences. names: the relations of all sentences of the run."""

    names: tuple[str, ...]
    layers: tuple[int, ...] | None

    def open(self, model: Model) -> Callable[[Part[GoldSentence]], ShardResult[TallySums]]:
        def compute(part: Part[GoldSentence]) -> ShardResult[TallySums]:
            tally = Tally([item.gold for item in part.items], [item.half for item in part.items], self.names)
            word_maps_of_batch(model, [item.example for item in part.items], tally.update, layers=self.layers)
            return ShardResult(tally.sums(), sum(len(item.example.source) for item in part.items))

        return compute


@dataclass(frozen=True)
class Scored:
    """The tally of the sentences that were scored, and how they were computed. kept: their indices among those that were given."""

    tally: Tally
    kept: tuple[int, ...]
    outcome: PartsOutcome


def score_heads(
    model: Model,
    sentences: Sequence[GoldSentence],
    names: Sequence[str],
    layers: Sequence[int] | None,
    engine: Engine | str,
    report: ReportWork,
) -> Scored:
    """Score every head on every sentence. names: of the sentences."""
    whole = Tally([item.gold for item in sentences], [item.half for item in sentences])
    work = SyntaxWork(tuple(whole.names), None if layers is None else tuple(layers))
    size = BatchSize.of(model)
    parts = parts_of(sentences, in_batches(model.layout, [item.example for item in sentences], size.tokens, size.texts), names)
    outcome = run_parts(work, model, parts, lambda part, sums: whole.merge(sums, part.indices), engine, report)
    kept = tuple(index for index in range(len(sentences)) if index not in outcome.left_out)
    return Scored(whole.only(kept), kept, outcome)
