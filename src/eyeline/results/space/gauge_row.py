"""One gauge beside no gauge: a row of tables/space_gauges.csv."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.results.table import Table


@dataclass(frozen=True)
class GaugeRow:
    """How dot product and distance correlate over some heads, as the model has its vectors and in the gauge; −1 is best.

    stack      encoder, decoder or cross
    gauge      attentionviz, searched or lifted
    distance   euclidean or cosine
    where      full: in all dimensions; plane: in the PCA plane (or space) of the picture
    before, after   means over heads
    heads      how many heads were tried, spread over the model; worse: in how many the gauge is worse than none
    tokens     of the first texts, on which they were tried; on the same heads and texts, space.csv has the same numbers
    """

    stack: str
    gauge: str
    distance: str
    where: str
    before: float
    after: float
    heads: int
    worse: int
    tokens: int = 0


def gauge_rows(table: Table) -> tuple[GaugeRow, ...]:
    """The rows of tables/space_gauges.csv. Files of earlier versions do not say on how many tokens the gauges were tried."""
    names = [name for name in GaugeRow.__dataclass_fields__ if name in table.columns]
    whole = ("heads", "worse", "tokens")
    return tuple(
        GaugeRow(**{name: int(row[name]) if name in whole else row[name] for name in names})  # type: ignore[arg-type]
        for row in table.rows()
    )
