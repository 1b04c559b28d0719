"""The analyses that a corpus run makes unless others are named."""

from __future__ import annotations

from eyeline.analyses.corpus.statistics.catalogue import statistics_named
from eyeline.analyses.corpus.statistics.usual import USUAL


def test_every_usual_analysis_is_in_the_catalogue_under_its_name() -> None:
    assert tuple(statistic.name for statistic in statistics_named(USUAL)) == USUAL
