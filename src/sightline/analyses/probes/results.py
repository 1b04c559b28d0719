"""What trained probes found → tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import torch

from sightline.analyses.probes.features import Heads
from sightline.analyses.probes.scorers import DIRECTIONS, AttentionAndWords, AttentionOnly, Scorer
from sightline.analyses.probes.training import Part, Score, mean_score
from sightline.measures.bootstrap import bootstrap_share
from sightline.results.table import Cell, Table


@dataclass(frozen=True)
class Found:
    """A probe's scores, one a seed.

    curve     sentences learnt → the score at that point, one a seed
    weights   one a seed [direction, head]; empty where the probe has no attention
    """

    name: str
    scores: list[Score]
    curve: dict[int, list[Score]] = field(default_factory=dict)
    weights: list[np.ndarray] | dict[str, float] = field(default_factory=list)

    def add_point(self, sentences: int, score: Score) -> None:
        self.curve.setdefault(sentences, []).append(score)
