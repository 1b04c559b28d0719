"""A live view of a model that answers: what is switched off in the browser reaches the model, and its new answer comes back."""

from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.views.live import answer_without, interventions_of
from tests.models.headed_models import headed, masking_tokenizer

TEXT = "the cat sat on the [MASK] ."


@pytest.fixture(scope="module")
def model() -> el.Model:
    return el.wrap(headed("BertForMaskedLM"), masking_tokenizer(), name="m")


def test_the_widget_answers_when_something_is_switched_off_and_says_nothing_otherwise(model):
    pytest.importorskip("anywidget")
    view = el.head_view(model.trace(TEXT), model=model).starting(layer=1)
    widget = view.widget()
    widget.state = {**widget.state, "layer": 0}
    assert widget._answer == {}
    widget.state = {**widget.state, "off": "L1·H2; L0·H1 2>3"}
    expected = model.predict(TEXT, interventions=[el.Ablate([(1, 2)]), el.KnockOut(2, 3, [(0, 1)])])
    assert widget._answer["off"] == "L1·H2; L0·H1 2>3"
    assert widget._answer["prediction"]["choices"][0]["probabilities"][:10] == pytest.approx(expected.probabilities)
    widget.state = {**widget.state, "off": ""}
    assert widget._answer["prediction"]["choices"][0]["probabilities"] == pytest.approx(model.predict(TEXT).probabilities)


@pytest.mark.parametrize(
    ("off", "change"),
    [
        ("L1·H0-3", el.Ablate([(1, head) for head in range(4)])),
        ("L1·H0-3 2>3,4", el.KnockOut(2, [3, 4], [(1, head) for head in range(4)])),
        ("all 2>3", el.KnockOut(2, 3)),
    ],
)
def test_all_heads_of_a_layer_and_an_edge_in_all_heads_can_be_switched_off(model, off, change):
    answer = answer_without(model, model.trace(TEXT), off)
    expected = model.predict(TEXT, interventions=change)
    assert answer["prediction"]["choices"][0]["probabilities"][:10] == pytest.approx(expected.probabilities)


def test_the_neuron_view_answers_too(model):
    pytest.importorskip("anywidget")
    widget = el.neuron_view(model.trace(TEXT, keep=("weights", "queries", "keys")), model=model).widget()
    widget.state = {**widget.state, "off": "L1·H2"}
    assert widget._answer["prediction"]["choices"][0]["probabilities"][:10] == pytest.approx(
        model.predict(TEXT, interventions=el.Ablate([(1, 2)])).probabilities
    )


def test_effects_are_the_answer_without_each_head_alone(model):
    trace = model.trace(TEXT)
    view = el.head_view(trace, model=model, effects=True)
    answer = trace.prediction.label
    for effect in view.spec["effects"]:
        for head, probability in enumerate(effect["probabilities"]):
            without = model.predict(TEXT, interventions=el.Ablate([(effect["layer"], head)]), top=64)
            assert probability == pytest.approx(without.probability_of(answer), abs=1e-4)
    assert "prediction" in view.spec
    before = trace.prediction.probabilities[0]
    changes = {(each["layer"], head): abs(p - before) for each in view.spec["effects"] for head, p in enumerate(each["probabilities"])}
    opened = max(changes, key=changes.get)
    assert (view.state["layer"], view.state["heads"]) == (opened[0], [opened[1]]), "opened at the head that changes most"
    assert el.head_view(trace, model=model, effects=True, layer=0).state["layer"] == 0


@pytest.mark.parametrize(
    "name", ["BertForSequenceClassification", "BertForTokenClassification", "BertForQuestionAnswering", "T5ForConditionalGeneration"]
)
def test_effects_exist_for_every_kind_of_answer(name):
    model = el.wrap(headed(name), masking_tokenizer(), name="m")
    trace = model.trace(TEXT, "it ran .")
    effects = model.head_effects(trace)
    assert len(effects) == len(model.layout.slots)
    assert all(np.isfinite(effect["probabilities"]).all() for effect in effects)


@pytest.mark.parametrize(
    "name", ["BertForMaskedLM", "BertForSequenceClassification", "BertForQuestionAnswering", "T5ForConditionalGeneration"]
)
def test_an_estimated_effect_is_the_slope_of_the_answer_as_a_head_is_turned_down(name):
    """Against what the model itself says with each head scaled a little up and a little down."""
    model = el.wrap(headed(name), masking_tokenizer(), name="m")
    trace = model.trace(TEXT, "it ran .")
    step = 0.001  # T5's answer bends within a larger one

    def odds(layer, head, factor):
        changed = model.predict_again(trace, el.Scale([(layer["stack"], layer["layer"], head)], factor), top=200)
        p = dict(zip(changed.ids, changed.probabilities, strict=True))[trace.prediction.ids[0]]
        if name == "BertForQuestionAnswering":
            spans = zip(zip(changed.ids, changed.choices[0].ends, strict=True), changed.probabilities, strict=True)
            p = dict(spans)[trace.prediction.span]
        return np.log(p / (1 - p))

    before = trace.prediction.probabilities[0]
    for layer in model.estimated_effects(trace):
        for head in (0, 3):
            slope = (odds(layer, head, 1 + step) - odds(layer, head, 1 - step)) / (2 * step)
            expected = 1 / (1 + np.exp(-(np.log(before / (1 - before)) - slope)))
            assert layer["probabilities"][head] == pytest.approx(expected, abs=2e-3)


def test_every_choice_of_the_answer_before_has_its_number_though_it_is_no_longer_among_the_first(model):
    trace = model.trace(TEXT)
    off = "; ".join(f"L{layer}·H0-3" for layer in range(2))
    changed = answer_without(model, trace, off)["prediction"]["choices"][0]
    assert set(trace.prediction.ids) - set(changed["ids"][:10]), "some fell behind"
    everything = model.predict(TEXT, interventions=el.Ablate([(layer, head) for layer in range(2) for head in range(4)]), top=64)
    expected = dict(zip(everything.ids, everything.probabilities, strict=True))
    assert set(trace.prediction.ids) <= set(changed["ids"])
    assert changed["probabilities"] == pytest.approx([expected[each] for each in changed["ids"]])


def test_with_nothing_switched_off_the_answer_is_that_of_the_trace_without_another_pass(model, monkeypatch):
    trace = model.trace(TEXT)
    monkeypatch.setattr(el.Model, "predict_again", lambda *given: pytest.fail("a pass through the model"))
    for off in ("", " ; "):
        assert answer_without(model, trace, off) == {"off": off, "prediction": trace.prediction.to_json()}


def test_what_cannot_be_switched_off_is_answered_with_the_reason(model):
    trace = model.trace(TEXT)
    for off, reason in (
        ("nonsense", "cannot be switched off"),
        ("L9·H0", "no layer 9"),
        ("L0·H0 90>1", "Query 90"),
        ("L0·H0;" * 501, "501 things"),
    ):
        assert reason in answer_without(model, trace, off)["error"]
    assert interventions_of(" ; ") == []


def test_a_view_is_given_the_model_that_made_its_trace(model):
    other = el.wrap(headed("BertForMaskedLM"), masking_tokenizer(), name="other")
    with pytest.raises(TraceError, match="A trace of m, and the model other"):
        el.head_view(model.trace(TEXT), model=other)
    with pytest.raises(TraceError, match="effects=True without a model"):
        el.head_view(model.trace(TEXT), effects=True)
    with pytest.raises(TraceError, match="no answer to this text"):
        el.head_view(model.trace("the cat sat ."), model=model, effects=True)
    changed = model.trace(TEXT, interventions=[el.Ablate([(0, 1)])])
    with pytest.raises(TraceError, match=r"recorded with L0·H1 ablated"):
        el.head_view(changed, model=model)
    assert "prediction" in el.head_view(changed).spec
    without_answer = el.model_view(model.trace("the cat ."), model=model)
    assert "prediction" not in without_answer.spec
