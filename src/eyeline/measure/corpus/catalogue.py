"""Every statistic by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from inspect import Parameter, signature
from typing import Any

from eyeline.errors import TraceError, nearest
from eyeline.measure.corpus.average_attention import AverageAttention
from eyeline.measure.corpus.distances import HeadDistances
from eyeline.measure.corpus.effects import HeadEffects, Pruning
from eyeline.measure.corpus.entropy import Entropy
from eyeline.measure.corpus.head_scores import HeadScores
from eyeline.measure.corpus.importance import Importance
from eyeline.measure.corpus.max_logit import MaxLogit
from eyeline.measure.corpus.position_alone import PositionAlone
from eyeline.measure.statistics.statistic import Statistic

KINDS: tuple[type[Statistic], ...] = (
    AverageAttention, Entropy, PositionAlone, HeadDistances, Importance, MaxLogit, HeadScores, HeadEffects, Pruning,
)  # fmt: skip
STATISTICS = {kind.name: kind for kind in KINDS}


def without_options() -> tuple[str, ...]:
    """The statistics that can be made without any option, in the order of the catalogue: what can be chosen by its name alone."""
    return tuple(
        name for name, kind in STATISTICS.items() if all(p.default is not Parameter.empty for p in signature(kind).parameters.values())
    )


def statistic_with(name: str, options: Mapping[str, Any], own: Iterable[type[Statistic]] = ()) -> Statistic:
    """The statistic of this name, ours or one of the user's own, with these options."""
    known = STATISTICS | {kind.name: kind for kind in own}
    if name not in known:
        raise TraceError(f"No analysis is named {name!r}.", nearest(name, known), "A statistic of your own: give its class (own=[…]).")
    return known[name](**options)


def statistics_named(names: Iterable[str], targets: Mapping[str, str] | None = None, parts: Sequence[str] = ()) -> list[Statistic]:
    """The statistics of these names, average attention with these custom targets and parts of conversations."""
    statistics: list[Statistic] = []
    for name in dict.fromkeys(names):
        if name not in STATISTICS:
            raise TraceError(f"No analysis is named {name!r}.", nearest(name, STATISTICS))
        statistics.append(AverageAttention(targets, parts) if name == AverageAttention.name else STATISTICS[name]())
    return statistics
