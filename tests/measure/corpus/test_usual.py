"""The analyses that a corpus run makes unless others are named, and those that are made by name alone."""

from __future__ import annotations

import eyeline as el
from eyeline.measure.corpus.catalogue import statistics_named
from eyeline.measure.corpus.run import PASSES, seconds_per_document
from eyeline.measure.statistics.options import BY_NAME, USUAL, AnalyseOptions
from tests.laws.statistics import tiny_model

TEXTS = ["the cat sat on the mat . it purred , and sat .", "a dog ran a very long way home , and it sat ."] * 8


def test_every_usual_analysis_is_in_the_catalogue_under_its_name() -> None:
    names = (*USUAL, *BY_NAME)
    assert tuple(statistic.name for statistic in statistics_named(names)) == names


def test_gradients_are_taken_only_where_importance_is_named() -> None:
    run = el.analyse(tiny_model(), TEXTS[:2])
    assert set(run.facts.statistics or {}) == set(USUAL)
    assert "importance" not in run.tables


def test_the_cost_of_each_statistic_is_known_before_the_run() -> None:
    corpus, statistics = el.corpora.Corpus.from_texts(TEXTS, "texts"), statistics_named((*USUAL, *BY_NAME))
    costs = seconds_per_document(tiny_model(), corpus, statistics, AnalyseOptions())
    assert list(costs) == [PASSES, *USUAL, *(name for name in BY_NAME if name != "head_scores")]  # the model is an encoder
    assert costs[PASSES] > 0
