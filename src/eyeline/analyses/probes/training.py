"""Train a probe, one sentence in each step, until it no longer improves on held-out sentences; count its correct predictions."""

from __future__ import annotations

import copy
import math
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from eyeline.analyses.probes.features import GoldSentences, Maps
from eyeline.analyses.probes.scorers import Scorer
from eyeline.analyses.probes.vectors import WordVectors
from eyeline.analyses.progress import ReportStep
from eyeline.errors import ModelError

#: Adam's step, as in the paper.
RATE = 0.002
#: A probe sees every sentence at most EPOCHS times, and is stopped where the held-out loss has not fallen by GAIN in PATIENCE epochs.
EPOCHS, PATIENCE, GAIN = 100, 5, 0.01
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
    """Adam, one sentence a step in random order, summed cross-entropy.

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
