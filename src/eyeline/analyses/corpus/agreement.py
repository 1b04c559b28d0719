"""Checks that streamed attention equals the model's own maps: before a run, and again on some batches during it."""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.fold import fold
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.prepare import shortened
from eyeline.capture.collect import Sides
from eyeline.errors import ModelError
from eyeline.models.model import Model

#: How far the sums of the streamed and the dense form may lie apart, for each text of the check; a model in half precision rounds its
#: own maps.
AGREE_WITHIN, AGREE_WITHIN_HALF = 1e-3, 2e-2
#: The most texts, and the most tokens of each, that a check reads.
CHECK_TEXTS, CHECK_TOKENS = 4, 256
#: A streamed run checks about one batch in RECHECK_EVERY again.
RECHECK_EVERY = 50

Layers = Mapping[str, tuple[int, ...]]


def can_stream(model: Model, batch: Batch, statistics: Sequence[Statistic], layers: Layers, *, one_pass: bool = False) -> bool:
    """Whether both forms give the same sums on some texts of this batch, with padding and without: their masks are made differently."""
    return all(agree(model, sides, batch.roles, statistics, layers, one_pass=one_pass) for sides in _with_and_without_padding(model, batch))


def recheck(model: Model, batch: Batch, statistics: Sequence[Statistic], layers: Layers, *, one_pass: bool = False) -> None:
    """Stop a run whose streamed form no longer agrees with the model's own maps."""
    if not agree(model, _few(batch), batch.roles, statistics, layers, one_pass=one_pass):
        raise ModelError(
            f"The attention of {model.name} through a fused kernel is not that of its own maps.",
            "It was when the run began. The sums since then cannot be trusted, so the run stops here.",
            "Please report this model to eyeline.",
        )


def is_rechecked(seed: int, group: int, batch: int) -> bool:
    """Whether this batch is one of those that are checked again: a seeded choice by its number, the same in a resumed run."""
    return random.Random(f"{seed} {group} {batch}").random() < 1 / RECHECK_EVERY  # noqa: S311 - a seeded choice, not a secret


def agree(
    model: Model,
    sides: Sequence[Sides],
    roles: Mapping[str, int],
    statistics: Sequence[Statistic],
    layers: Layers,
    *,
    one_pass: bool = False,
) -> bool:
    """Whether both forms give the same sums on these texts."""
    states = []
    for streamed in (True, False):
        fresh = [statistic.fresh() for statistic in statistics]
        batch = Batch(tuple(sides), roles, model.hf.device)
        fold(model, batch, fresh, layers, streamed=streamed, one_pass=one_pass and streamed)
        states.append([statistic.state() for statistic in fresh])
    within = AGREE_WITHIN if model.hf.dtype in (torch.float32, torch.float64) else AGREE_WITHIN_HALF
    return all(
        streamed.keys() == dense.keys()
        and all(np.allclose(streamed[name], dense[name], rtol=within, atol=within * len(sides)) for name in streamed)
        for streamed, dense in zip(*states, strict=True)
    )


def _few(batch: Batch) -> list[Sides]:
    """The first texts of a batch, shortened."""
    return [_shortened(sides, CHECK_TOKENS) for sides in batch.sides[:CHECK_TEXTS]]


def _with_and_without_padding(model: Model, batch: Batch) -> Iterator[list[Sides]]:
    few = _few(batch)
    yield few[:1]
    if model.layout.padding_shows:  # its texts never share a batch with longer ones
        if len(few) > 1:
            yield few
        return
    longest, shortest = (choose(few, key=lambda sides: len(sides.source)) for choose in (max, min))
    if len(longest.source) == len(shortest.source):
        shortest = _shortened(longest, max(4, len(longest.source) // 2))
    yield [longest, shortest]  # two texts are enough: every pass of the check counts in the cost of a short run


def _shortened(sides: Sides, n: int) -> Sides:
    return Sides(shortened(sides.source, n), sides.target and shortened(sides.target, n))
