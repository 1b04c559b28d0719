"""The tables of a run: each statistic's own, and those that need several of them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from sightline.analyses.statistic import Statistic
from sightline.results.table import Table


def summarise(statistics: Sequence[Statistic], seed: int) -> tuple[dict[str, Table], dict[str, Any]]:
    """Tables by name, and numbers about them that belong in run.json."""
    tables: dict[str, Table] = {}
    notes: dict[str, Any] = {}
    for statistic in statistics:
        tables |= statistic.result()
    return tables, notes
