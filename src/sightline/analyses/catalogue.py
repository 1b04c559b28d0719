"""Every statistic by name."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from sightline.analyses.average_attention import AverageAttention
from sightline.analyses.entropy import Entropy
from sightline.analyses.head_distances import HeadDistances
from sightline.analyses.importance import Importance
from sightline.analyses.statistic import Statistic
from sightline.errors import TraceError, nearest

STATISTICS: dict[str, type[Statistic]] = {kind.name: kind for kind in (AverageAttention, Entropy, HeadDistances, Importance)}


def statistics_named(names: Iterable[str], targets: Mapping[str, str] | None = None) -> list[Statistic]:
    """The statistics of these names, average attention with these custom targets."""
    found: list[Statistic] = []
    for name in dict.fromkeys(names):
        if name not in STATISTICS:
            raise TraceError(f"No analysis is named {name!r}.", nearest(name, STATISTICS))
        found.append(AverageAttention(targets) if name == AverageAttention.name else STATISTICS[name]())
    return found
