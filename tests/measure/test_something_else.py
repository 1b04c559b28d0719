"""Something else where a model, a trace or a number belongs: our own error, from every analysis and intervention."""

from __future__ import annotations

import pytest

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from tests.laws.statistics import tiny_model

pytestmark = pytest.mark.usefixtures("quick_pictures")

TEXT = "the cat sat on the mat ."
MASKED = "the [MASK] sat ."


@pytest.mark.parametrize("model", [5, None, object()])
def test_something_else_than_a_model_is_refused_by_every_analysis(model):
    bank = el.treebanks.sample_treebank(2)
    calls = [
        lambda: el.analyse(model, [TEXT]),
        lambda: el.causes(model, [TEXT]),
        lambda: el.compare(model, model, [TEXT]),
        lambda: el.space(model, [TEXT]),
        lambda: el.syntax(model, bank),
        lambda: el.probe(model, bank),
        lambda: el.attribute(model, TEXT),
    ]
    for call in calls:
        with pytest.raises(ModelError, match="where a model was expected"):
            call()


def test_the_name_of_a_model_is_refused_where_the_model_itself_is_needed():
    for call in (lambda: el.space("minilm", [TEXT]), lambda: el.attribute("minilm", TEXT), lambda: el.compare("minilm", "minilm", [TEXT])):
        with pytest.raises(ModelError, match="where a model was expected"):
            call()


@pytest.mark.parametrize(
    "change",
    [
        el.Ablate([(0, 0)], by="mean", source=5),
        el.Ablate([(0, 0)], by="mean", source=[5]),
        el.Patch(5),
        el.Scale([(0, 0)], "2"),
        el.Scale([(0, 0)], None),
        el.KnockOut(1.5, 0),
        el.ZeroValues("x"),
    ],
)
def test_an_intervention_of_something_else_is_refused_when_it_is_used_and_can_be_printed(change):
    assert str(change)
    for run in (lambda: tiny_model().trace(TEXT, interventions=change), lambda: tiny_model().predict(MASKED, interventions=change)):
        with pytest.raises(EyelineError):
            run()


def test_a_change_after_which_the_model_computes_nan_is_an_error_and_no_trace():
    with pytest.raises(TraceError, match="nan or infinite"):
        tiny_model().trace(TEXT, interventions=el.Scale([(0, 0)], 1e300))
