"""The results of trained probes as tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass

import numpy as np
import torch

from eyeline.analyses.probes.features import Heads
from eyeline.analyses.probes.scorers import AttentionAndWords, AttentionOnly, Scorer
from eyeline.analyses.probes.training import ProbeData, Score, Training, mean_score
from eyeline.measures.bootstrap import bootstrap_share
from eyeline.results.grammar.directions import ARC_DIRECTIONS
from eyeline.results.table import Cell, Table


@dataclass(frozen=True)
class ProbeResult:
    """A probe and its scores, one for each seed.

    trainings  how the training of each seed went; empty where nothing is trained
    weights    [direction, head] of each seed; empty where the probe has no attention
    """

    name: str
    scores: Sequence[Score]
    trainings: Sequence[Training] = ()
    weights: Sequence[np.ndarray] = ()


def weights_of(scorer: Scorer, test: ProbeData) -> np.ndarray | None:
    """The weight that a probe gives to each head and direction: [direction, head]; None for a probe without attention.

    For attention only: its weights. With words: the mean weight over the gold arcs of the test sentences (ROOT's vector is zero).
    """
    if isinstance(scorer, AttentionOnly):
        return scorer.weights.detach().numpy().copy()
    if not isinstance(scorer, AttentionAndWords):
        return None
    total = torch.zeros(len(ARC_DIRECTIONS), len(test.maps.heads), dtype=torch.float64)
    with torch.inference_mode():
        for index, governors in enumerate(test.gold.governors):
            candidate, dependent = scorer.tables(test.vectors.of(test.name, index))  # [word, direction, head]
            total += dependent.sum(0) + candidate[governors[governors > 0] - 1].sum(0)
    return np.asarray(total / sum(map(len, test.gold.governors)))


def probes_table(results: Sequence[ProbeResult], seed: int) -> Table:
    """A row for each probe: scores in percent, the mean over seeds; low and high are the 95 % confidence interval of uas.

    n: words scored, without punctuation; spread: the standard deviation of uas over seeds; epochs: how many the probe was trained for,
    the mean over seeds; converged: the share of seeds that ended before the last epoch allowed.
    """
    rows: list[dict[str, Cell]] = []
    for result in results:
        mean = mean_score(result.scores)
        low, high = bootstrap_share(mean.hits, mean.of, seed=seed)
        spread = float(np.std([score.uas for score in result.scores], ddof=1)) if len(result.scores) > 1 else float("nan")
        scores = {"uas": mean.uas, "uas_with_punctuation": mean.uas_with_punctuation, "low": 100 * low, "high": 100 * high}
        epochs, converged = (_mean([getattr(training, name) for training in result.trainings]) for name in ("kept", "converged"))
        trained = {"epochs": epochs, "converged": converged}
        rows.append({"probe": result.name, **scores, "n": int(mean.of.sum()), "spread": spread, **trained})
    return Table.from_rows(rows)


def learning_table(results: Sequence[ProbeResult]) -> Table:
    """A row for each probe, seed and point of the learning curve; kept is 1 at the epoch whose weights the probe has."""
    rows: list[dict[str, Cell]] = []
    for result in results:
        for number, training in enumerate(result.trainings):
            for point in training.checkpoints:
                kept = int(point.epoch == training.kept)
                rows.append({"probe": result.name, "seed": number, **asdict(point), "kept": kept})
    return Table.from_rows(rows)


def _mean(values: Sequence[float]) -> float:
    return float(np.mean(values)) if values else float("nan")


def weights_table(results: Sequence[ProbeResult], heads: Heads) -> Table:
    """A row for each probe, head and direction: the mean weight over seeds."""
    rows: list[dict[str, Cell]] = []
    for result in results:
        if not result.weights:
            continue
        mean = np.mean(result.weights, axis=0)  # [direction, head]
        for direction, weights in zip(ARC_DIRECTIONS, mean, strict=True):
            for layer, head, weight in zip(heads.layers, heads.heads, weights, strict=True):
                rows.append({"probe": result.name, "layer": layer, "head": head, "direction": direction, "weight": float(weight)})
    return Table.from_rows(rows)
