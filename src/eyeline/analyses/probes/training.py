"""Train a probe, one sentence a step, and count what it gets right."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from eyeline.analyses.probes.features import GoldSentences, Maps
from eyeline.analyses.probes.scorers import Scorer
from eyeline.analyses.probes.vectors import WordVectors
from eyeline.analyses.progress import ReportStep
from eyeline.errors import ModelError

#: Adam's step, as in the paper.
RATE = 0.002
#: The learning curve has at most so many points, each at twice the sentences of the one before; the first at no fewer than FEWEST.
POINTS, FEWEST = 6, 10


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
        """The share of words whose head is right, without punctuation, in percent."""
        return float(100 * self.hits.sum() / self.of.sum()) if self.of.sum() else float("nan")

    @property
    def uas_with_punctuation(self) -> float:
        return float(100 * self.hits_with_punctuation.sum() / self.of_with_punctuation.sum())


def count(gold: GoldSentences, predicted: Sequence[Tensor]) -> Score:
    """Compare predicted governors of each sentence [word] (0 for ROOT) with the gold ones."""
    right = [(answers == governors) for answers, governors in zip(predicted, gold.governors, strict=True)]
    return Score(
        np.array([int((ok & scored).sum()) for ok, scored in zip(right, gold.scored, strict=True)], float),
        np.array([int(scored.sum()) for scored in gold.scored], float),
        np.array([int(ok.sum()) for ok in right], float),
        np.array([len(ok) for ok in right], float),
    )


def mean_score(scores: Sequence[Score]) -> Score:
    """The mean over seeds, sentence by sentence."""
    first = scores[0]
    hits = np.mean([score.hits for score in scores], axis=0)
    with_punctuation = np.mean([score.hits_with_punctuation for score in scores], axis=0)
    return Score(hits, first.of, with_punctuation, first.of_with_punctuation)


def evaluate(scorer: Scorer, test: ProbeData) -> Score:
    """The best-scoring candidate of each word, without any constraint that they make a tree."""
    with torch.no_grad(), _one_thread():  # not inference_mode: distances are kept, and trained on afterwards
        return count(test.gold, [scorer(*test.inputs(index)).argmax(1) for index in range(len(test))])


def train(
    scorer: Scorer,
    part: ProbeData,
    *,
    epochs: int,
    generator: torch.Generator,
    at: Callable[[int], None] | None = None,
    report: ReportStep | None = None,
) -> None:
    """Adam, one sentence a step in random order, summed cross-entropy. After each step of the first epoch `at` gets their number."""
    optimiser = torch.optim.Adam(scorer.parameters(), lr=RATE, fused=True)
    steps = 0
    with _one_thread():
        for epoch in range(epochs):
            total = 0.0
            for index in torch.randperm(len(part), generator=generator).tolist():
                loss = scorer.loss(*part.inputs(index), part.gold.governors[index])
                optimiser.zero_grad()
                loss.backward()  # type: ignore[no-untyped-call]
                optimiser.step()
                total += loss.item()
                steps += 1
                if epoch == 0 and at is not None:
                    at(steps)
                if report is not None and (steps % 100 == 0 or steps == epochs * len(part)):
                    report(steps, epochs * len(part))
            if not math.isfinite(total):
                raise ModelError("The loss of a probe is not a number.", "Are the word vectors finite and of ordinary size?")


def curve_sizes(n: int) -> list[int]:
    """The sizes at which a learning curve is measured: each half of the next.

    >>> curve_sizes(3000), curve_sizes(15)
    ([93, 187, 375, 750, 1500, 3000], [15])
    """
    sizes = [n >> power for power in range(POINTS) if not power or n >> power >= FEWEST]
    return sizes[::-1]


@contextmanager
def _one_thread() -> Iterator[None]:
    """A sentence is too small to be shared between threads: handing it round takes longer than the work."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)
