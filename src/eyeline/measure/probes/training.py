"""The probes: how likely each word, or ROOT, is the governor of each word; and how they are trained. Small torch modules, no files.

A scorer takes `maps` [unit, unit, head of the model], query before key, the words first and then the special tokens, and `vectors`
[word, dim]; it gives scores [dependent, candidate]. Candidate 0 is ROOT, candidate i + 1 word i; a word is among its own candidates.
Source: Clark et al. 2019, section 5, and where that is silent (ROOT, distances, starting weights) the code released with it.
"""

from __future__ import annotations

import copy
import functools
import math
import random
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from eyeline.errors import ModelError
from eyeline.heads import ARC_DIRECTIONS
from eyeline.measure.probes.features import GoldSentences, Maps, WordVectors
from eyeline.measure.runs.progress import ReportStep

N_DIRECTIONS = len(ARC_DIRECTIONS)

N_DISTANCES = 8

HIDDEN = 256


class Scorer(nn.Module, ABC):
    """What all probes have in common: weights drawn at random from a seed, and a loss, the summed cross-entropy."""

    @abstractmethod
    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        """[unit, unit, head], [word, dim] → scores [dependent, candidate]"""

    def loss(self, maps: Tensor, vectors: Tensor, governors: Tensor) -> Tensor:
        """− Σ_j log p(governor of j | j); governors: [word], 0 for ROOT, i + 1 for word i."""
        return nn.functional.cross_entropy(self(maps, vectors), governors, reduction="sum")


class AttentionOnly(Scorer):
    """One weight for each head and direction (in the order of ARC_DIRECTIONS: u_k, w_k), no bias.

        p(i|j) ∝ exp Σ_k (w_k α^k_ij + u_k α^k_ji)        i the candidate, j the dependent; α_ij is attention from i to j

    ROOT attends and is attended to as a mixture of the special tokens: α_j0 = Σ_s a_s M[j, s], α_0j = Σ_s a_s M[s, j], with a learned and
    shared by all heads and both directions. Where there are no special tokens, both are a learned constant.
    """

    def __init__(self, n_heads: int, n_special: int, generator: torch.Generator) -> None:
        super().__init__()
        self.n_special = n_special
        self.weights = _uniform((N_DIRECTIONS, n_heads), math.sqrt(3 / (N_DIRECTIONS * n_heads)), generator)  # [direction, head]
        self.root = _root(n_special)

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        n = len(maps) - self.n_special
        weighed = maps @ self.weights.T  # [query, key, direction]
        words = weighed[:n, :n, 0] + weighed[:n, :n, 1].T  # [dependent, candidate]
        if self.n_special:
            root = weighed[:n, n:, 0] @ self.root + self.root @ weighed[n:, :n, 1]  # [dependent]
        else:
            root = (self.root * self.weights.sum()).expand(n)
        return torch.cat([root[:, None], words], 1)


class AttentionAndWords(Scorer):
    """The weight of each head and direction is a linear function of the two words.

        p(i|j) ∝ exp Σ_k [W_k(v_i ⊕ v_j) α^k_ij + U_k(v_i ⊕ v_j) α^k_ji]

    A linear function of v_i ⊕ v_j is a function of v_i plus one of v_j: tables [word, direction, head], so that nothing of the size
    [word, word, head, dim] is ever computed. ROOT's vector is zero; its attention is that of AttentionOnly.
    """

    def __init__(self, n_heads: int, n_special: int, n_dims: int, generator: torch.Generator) -> None:
        super().__init__()
        self.n_special = n_special
        n_out = N_DIRECTIONS * n_heads
        bound = math.sqrt(6 / (2 * n_dims + n_out))
        self.of_candidate = _uniform((n_dims, n_out), bound, generator)
        self.of_dependent = _uniform((n_dims, n_out), bound, generator)
        self.bias = nn.Parameter(torch.zeros(n_out))
        self.root = _root(n_special)

    def tables(self, vectors: Tensor) -> tuple[Tensor, Tensor]:
        """What a word adds to the weights as a candidate, and as a dependent (with the bias): two of [word, direction, head]."""
        shape = (len(vectors), N_DIRECTIONS, -1)
        return (vectors @ self.of_candidate).view(shape), torch.addmm(self.bias, vectors, self.of_dependent).view(shape)

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        n = len(vectors)
        candidate, dependent = self.tables(vectors)
        between = maps[:n, :n]  # [query, key, head]
        # Direction 0: the dependent is the query, the candidate the key; direction 1 the other way round.
        of_query = torch.stack([dependent[:, 0], candidate[:, 1]], 2)  # [query, head, direction]
        of_key = torch.stack([candidate[:, 0], dependent[:, 1]], 2)  # [key, head, direction]
        by_query = torch.bmm(between, of_query)  # [query, key, direction]
        by_key = torch.bmm(between.transpose(0, 1), of_key)  # [key, query, direction]
        words = by_query[..., 0] + by_query[..., 1].T + by_key[..., 0].T + by_key[..., 1]  # [dependent, candidate]
        if self.n_special:
            to_root = torch.einsum("dsk,s->dk", maps[:n, n:], self.root)  # [dependent, head]
            from_root = torch.einsum("sdk,s->dk", maps[n:, :n], self.root)
            root = (dependent[:, 0] * to_root + dependent[:, 1] * from_root).sum(1)  # [dependent]
        else:
            root = self.root * dependent.sum((1, 2))
        return torch.cat([root[:, None], words], 1)


class DistancesAndWords(Scorer):
    """No attention: how far away the candidate is, and both words, through one hidden layer of 256 tanh units. ROOT's vector is zero."""

    def __init__(self, n_dims: int, generator: torch.Generator) -> None:
        super().__init__()
        bound = math.sqrt(6 / (N_DISTANCES + 2 * n_dims + HIDDEN))
        self.of_distance = _uniform((N_DISTANCES, HIDDEN), bound, generator)
        self.of_candidate = _uniform((n_dims, HIDDEN), bound, generator)
        self.of_dependent = _uniform((n_dims, HIDDEN), bound, generator)
        self.bias = nn.Parameter(torch.zeros(HIDDEN))
        self.out = _uniform((HIDDEN,), math.sqrt(6 / (HIDDEN + 1)), generator)  # a bias here would be the same for all candidates

    def forward(self, maps: Tensor, vectors: Tensor) -> Tensor:
        candidate = nn.functional.pad(vectors @ self.of_candidate, (0, 0, 1, 0))  # [candidate, unit]
        dependent = torch.addmm(self.bias, vectors, self.of_dependent)  # [dependent, unit]
        hidden = distances(len(vectors)) @ self.of_distance + candidate + dependent[:, None]  # [dependent, candidate, unit]
        return torch.tanh(hidden) @ self.out


@functools.lru_cache(maxsize=128)
def distances(n_words: int) -> Tensor:
    """Eight features of the position of a candidate, as the paper's released code has them: [dependent, candidate, feature].

    How far ahead and how far behind (both as a share of the sentence, 0 on the other side); whether it is the word itself, the next, the
    previous, the one after next, the one before the previous; whether it is ROOT.

    >>> distances(2)[0].tolist()  # of the first word: to ROOT, itself and the next
    [[0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0], [0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0], [0.5, 0.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0]]
    """
    positions = torch.arange(n_words)
    ahead = positions[None, :] - positions[:, None]  # [dependent, word]
    share = ahead / n_words
    near = [(ahead == offset).float() for offset in (0, 1, -1, 2, -2)]
    words = torch.stack([share.clamp_min(0), share.clamp_max(0).abs(), *near, torch.zeros_like(share)], 2)
    root = torch.zeros(n_words, 1, N_DISTANCES)
    root[..., -1] = 1
    return torch.cat([root, words], 1)


def right_branching(n_words: int) -> Tensor:
    """The governor of each word is the next word; the last word's is ROOT. [word], as `governors` of a loss.

    >>> right_branching(3).tolist()
    [2, 3, 0]
    """
    return torch.tensor([*range(2, n_words + 1), 0])


def _uniform(shape: tuple[int, ...], bound: float, generator: torch.Generator) -> nn.Parameter:
    """Glorot's uniform start, as in the released code."""
    return nn.Parameter((torch.rand(shape, generator=generator) * 2 - 1) * bound)


def _root(n_special: int) -> nn.Parameter:
    return nn.Parameter(torch.full((max(1, n_special),), 1.0 / max(1, n_special)) if n_special else torch.zeros(1))


# ---- Training


#: Adam's step, as in the paper.
RATE = 0.002

#: Training is stopped where the held-out loss has not fallen by GAIN in PATIENCE epochs.
PATIENCE, GAIN = 5, 0.01

#: In the first epoch the learning curve has at most POINTS points, each at twice the sentences of the one before, from FEWEST on.
POINTS, FEWEST = 6, 10

#: One training sentence in HELD_OUT is held out, but no fewer than FEWEST_HELD_OUT, and at most one in four.
HELD_OUT, FEWEST_HELD_OUT = 10, 20


@dataclass(frozen=True)
class ProbeData:
    """Training or test sentences as a probe reads them: maps, word vectors, and the gold governors."""

    name: str
    gold: GoldSentences
    maps: Maps
    vectors: WordVectors

    def __len__(self) -> int:
        return len(self.gold)

    def inputs(self, index: int) -> tuple[Tensor, Tensor]:
        """Maps [unit, unit, head] and vectors [word, dim] of one sentence."""
        return self.maps[index], self.vectors.of(self.name, index)


@dataclass(frozen=True)
class Score:
    """Right governors of each sentence, with and without punctuation; [sentence] each. Scores of several seeds may be averaged."""

    hits: np.ndarray
    of: np.ndarray
    hits_with_punctuation: np.ndarray
    of_with_punctuation: np.ndarray

    @property
    def uas(self) -> float:
        """The share of words whose governor is right, without punctuation, in percent."""
        return float(100 * self.hits.sum() / self.of.sum()) if self.of.sum() else float("nan")

    @property
    def uas_with_punctuation(self) -> float:
        return float(100 * self.hits_with_punctuation.sum() / self.of_with_punctuation.sum())


def count(gold: GoldSentences, predicted: Sequence[Tensor], sentences: Sequence[int] | None = None) -> Score:
    """Compare predicted governors of each sentence [word] (0 for ROOT) with the gold ones: of all sentences, or of some, by index."""
    chosen = range(len(gold)) if sentences is None else sentences
    right = [(answers == gold.governors[index]) for answers, index in zip(predicted, chosen, strict=True)]
    scored = [gold.scored[index] for index in chosen]
    return Score(
        np.array([int((ok & counted).sum()) for ok, counted in zip(right, scored, strict=True)], float),
        np.array([int(counted.sum()) for counted in scored], float),
        np.array([int(ok.sum()) for ok in right], float),
        np.array([len(ok) for ok in right], float),
    )


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean over seeds, sentence by sentence."""
    first = scores[0]
    hits = np.mean([score.hits for score in scores], axis=0)
    with_punctuation = np.mean([score.hits_with_punctuation for score in scores], axis=0)
    return Score(hits, first.of, with_punctuation, first.of_with_punctuation)


@dataclass(frozen=True)
class Checkpoint:
    """A point of a learning curve.

    epoch          how often the training sentences have been seen; less than 1 within the first epoch
    sentences      how many training sentences have been seen, repeated ones included
    loss           mean cross-entropy of a word, in nats, in training since the point before
    held_out_loss  the same for the sentences held out; nan where there are none
    held_out_uas   the share of their words whose governor is right, without punctuation, in percent
    """

    epoch: float
    sentences: int
    loss: float
    held_out_loss: float
    held_out_uas: float


@dataclass(frozen=True)
class Training:
    """How a training went. kept: the epoch whose weights the probe has; converged: whether it ended before the last epoch allowed."""

    checkpoints: tuple[Checkpoint, ...]
    kept: int
    converged: bool


def evaluate(scorer: Scorer, test: ProbeData) -> Score:
    """The best-scoring candidate of each word, without any constraint that they make a tree."""
    with torch.no_grad(), _one_thread():  # not inference_mode: `distances` is cached, and used in training afterwards
        return count(test.gold, [scorer(*test.inputs(index)).argmax(1) for index in range(len(test))])


def held_out_sentences(n: int, seed: int) -> list[int]:
    """The training sentences, by index, that a probe does not learn from: they decide when training stops.

    >>> [len(held_out_sentences(n, seed=0)) for n in (1, 3, 20, 150, 3000)]
    [0, 1, 5, 20, 300]
    """
    wanted = 0 if n < 2 else max(1, min(max(n // HELD_OUT, FEWEST_HELD_OUT), n // 4))
    return sorted(random.Random(seed).sample(range(n), wanted))  # noqa: S311 - a seeded choice, not a secret


def train(
    scorer: Scorer,
    part: ProbeData,
    *,
    epochs: int,
    generator: torch.Generator,
    held_out: Sequence[int] = (),
    patience: int = PATIENCE,
    report: ReportStep | None = None,
) -> Training:
    """Adam, one sentence a step in random order, summed cross-entropy, until the loss on held-out sentences no longer falls.

    After each epoch the loss on the sentences of `part` that are held out (by index) is measured. Where it has not fallen by GAIN, as a
    share of itself, for `patience` epochs, training ends; the probe gets the weights of the best epoch. Without held-out sentences all
    epochs are run.
    """
    left_out = set(held_out)
    learnt = torch.tensor([index for index in range(len(part)) if index not in left_out])
    optimiser = torch.optim.Adam(scorer.parameters(), lr=RATE, fused=True)
    sizes, limit, steps = set(curve_sizes(len(learnt))), epochs * len(learnt), 0
    checkpoints: list[Checkpoint] = []
    best, best_loss, best_weights = 0, math.inf, copy.deepcopy(scorer.state_dict())
    gained, to_beat = 0, math.inf  # the last epoch that was better by GAIN, and its loss
    with _one_thread():
        for epoch in range(1, epochs + 1):
            total, words = 0.0, 0
            for index in learnt[torch.randperm(len(learnt), generator=generator)].tolist():
                loss = scorer.loss(*part.inputs(index), part.gold.governors[index])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total, words, steps = total + loss.item(), words + len(part.gold.governors[index]), steps + 1
                if steps % len(learnt) == 0 or steps in sizes:
                    checkpoints.append(_checkpoint(scorer, part, held_out, steps / len(learnt), steps, total / words))
                    total, words = 0.0, 0
                if report is not None and steps % 100 == 0:
                    report(steps, limit)
            last = checkpoints[-1]
            if not math.isfinite(last.loss):
                raise ModelError("The loss of a probe is not a number.", "Are the word vectors finite and of ordinary size?")
            if not held_out or last.held_out_loss < best_loss:
                best, best_loss, best_weights = epoch, last.held_out_loss, copy.deepcopy(scorer.state_dict())
            if not held_out or last.held_out_loss < to_beat * (1 - GAIN):
                gained, to_beat = epoch, last.held_out_loss
            if epoch - gained >= patience:
                break
    scorer.load_state_dict(best_weights)
    if report is not None:
        report(limit, limit)
    return Training(tuple(checkpoints), best, epoch - gained >= patience)


def _checkpoint(scorer: Scorer, part: ProbeData, held_out: Sequence[int], epoch: float, steps: int, loss: float) -> Checkpoint:
    if not held_out:
        return Checkpoint(epoch, steps, loss, math.nan, math.nan)
    gold = [part.gold.governors[index] for index in held_out]
    with torch.no_grad():
        scores = [scorer(*part.inputs(index)) for index in held_out]
    total = sum(float(nn.functional.cross_entropy(given, answer, reduction="sum")) for given, answer in zip(scores, gold, strict=True))
    score = count(part.gold, [given.argmax(1) for given in scores], held_out)
    return Checkpoint(epoch, steps, loss, total / sum(map(len, gold)), score.uas)


def curve_sizes(n: int) -> list[int]:
    """The numbers of sentences at which a learning curve is measured in the first epoch: each half of the next.

    >>> curve_sizes(3000), curve_sizes(15)
    ([93, 187, 375, 750, 1500, 3000], [15])
    """
    sizes = [n >> power for power in range(POINTS) if not power or n >> power >= FEWEST]
    return sizes[::-1]


@contextmanager
def _one_thread() -> Iterator[None]:
    """Use one thread: a sentence is so small that sharing it between threads takes longer than the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
