"""One gauge beside no gauge: a row of tables/space_gauges.csv."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GaugeRow:
    """How dot product and distance correlate over some heads, as the model has its vectors and in the gauge; −1 is best.

    stack      encoder, decoder or cross
    gauge      attentionviz, searched or lifted
    distance   euclidean or cosine
    where      full: in all dimensions; plane: in the PCA plane (or space) of the picture
    before, after   means over heads
    heads      how many heads were tried, spread over the model; worse: in how many the gauge is worse than none
    """

    stack: str
    gauge: str
    distance: str
    where: str
    before: float
    after: float
    heads: int
    worse: int
