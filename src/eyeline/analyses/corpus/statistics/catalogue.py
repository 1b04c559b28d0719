"""Every statistic by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.average_attention import AverageAttention
from eyeline.analyses.corpus.statistics.entropy import Entropy
from eyeline.analyses.corpus.statistics.head_distances import HeadDistances
from eyeline.analyses.corpus.statistics.head_effects import HeadEffects
from eyeline.analyses.corpus.statistics.importance import Importance
from eyeline.analyses.corpus.statistics.pruning import Pruning
from eyeline.errors import TraceError, nearest

KINDS: tuple[type[Statistic], ...] = (AverageAttention, Entropy, HeadDistances, Importance, HeadEffects, Pruning)
STATISTICS = {kind.name: kind for kind in KINDS}


def statistic_with(name: str, options: Mapping[str, Any], own: Iterable[type[Statistic]] = ()) -> Statistic:
    """The statistic of this name, ours or one of the user's own, with these options."""
    known = STATISTICS | {kind.name: kind for kind in own}
    if name not in known:
        raise TraceError(f"No analysis is named {name!r}.", nearest(name, known), "A statistic of your own: give its class (own=[…]).")
    return known[name](**options)


def statistics_named(names: Iterable[str], targets: Mapping[str, str] | None = None) -> list[Statistic]:
    """The statistics of these names, average attention with these custom targets."""
    statistics: list[Statistic] = []
    for name in dict.fromkeys(names):
        if name not in STATISTICS:
            raise TraceError(f"No analysis is named {name!r}.", nearest(name, STATISTICS))
        statistics.append(AverageAttention(targets) if name == AverageAttention.name else STATISTICS[name]())
    return statistics
