"""The table that compares every gauge with none, for the page of a space and the report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from eyeline.results.space.gauge_row import GaugeRow
from eyeline.words import Words

COLUMNS = ("gauge", "distance", "where", "before", "after", "worse")


@dataclass(frozen=True)
class WordTable:
    """A table ready for display: its title, its explanation, the titles of its columns, and its cells, row by row."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def gauges_table(rows: Sequence[GaugeRow], words: Words) -> WordTable:
    """The rows of `space.gauges` in words; where there are several stacks, each row names its own."""
    several = len({row.stack for row in rows}) > 1
    cells = []
    for row in rows:
        gauge = words.name("gauge", row.gauge)
        cells.append((
            f"{gauge} ({words.name('stack', row.stack)})" if several else gauge,
            words.name("distance", row.distance),
            words.name("where", row.where),
            *(f"{number:.2f}".replace("-", "−") for number in (row.before, row.after)),
            words("report.gauges.worse", worse=row.worse, heads=row.heads),
        ))  # fmt: skip
    heads, tokens = max(row.heads for row in rows), max(row.tokens for row in rows)
    about = words("report.table.space_gauges_about", heads=words.count("heads", heads), tokens=words.count("tokens", tokens))
    return WordTable(
        words("report.table.space_gauges"), about, tuple(words(f"report.gauges.column.{name}") for name in COLUMNS), tuple(cells)
    )
