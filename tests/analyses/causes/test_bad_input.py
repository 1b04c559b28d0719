"""What cannot be measured is refused in words, and the model answers as before: no heads, gradients that are not numbers, no label."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from tests.analyses.causes.tiny import PLAIN, TEXT, classifier, decoder, masked
from tests.capture.families import TINY, tiny_tokenizer

ALL = [(layer, head) for layer in range(3) for head in range(4)]
CORPUS = [PLAIN, "a dog ran home ."]
OTHER = TEXT.replace("cat", "dog")


class NoGradient(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, value: torch.Tensor) -> torch.Tensor:
        return value.clone()

    @staticmethod
    def backward(ctx: Any, *slopes: torch.Tensor) -> torch.Tensor:
        return slopes[0] * float("nan")


@pytest.fixture(scope="module")
def without_gradients() -> el.Model:
    """It answers, but its gradients are nan."""
    model = copy.deepcopy(masked())

    def spoil(_module: Any, _given: Any, output: Any) -> Any:
        return NoGradient.apply(output) if isinstance(output, torch.Tensor) else (NoGradient.apply(output[0]), *output[1:])

    model.hf.bert.encoder.layer[1].register_forward_hook(spoil)
    return model


@pytest.mark.parametrize(
    "measure",
    [
        lambda model: el.attribute(model, TEXT, method="gradient"),
        lambda model: el.attribute(model, TEXT, method="integrated-gradients"),
        lambda model: el.causes(model, CORPUS, pruning=False),
        lambda model: el.circuit(model, TEXT, OTHER, answer="mat", against="home", positions=False),
        lambda model: el.analyse(model, CORPUS, [el.statistics.Importance()]),
    ],
    ids=["gradient", "integrated gradients", "causes", "circuit", "importance"],
)
def test_gradients_that_are_no_numbers_are_an_error(without_gradients: el.Model, measure: Callable[[el.Model], Any]) -> None:
    before = without_gradients.predict(TEXT)
    with pytest.raises(ModelError, match=r"[Gg]radients .* (not numbers|not finite)"):
        measure(without_gradients)
    assert without_gradients.predict(TEXT) == before


@pytest.mark.parametrize("open_model", [masked, decoder, classifier], ids=lambda f: f.__name__)
def test_a_model_without_any_head_still_answers(open_model: Callable[[], el.Model]) -> None:
    model = open_model()
    text = TEXT if model.name == "tiny-masked" else PLAIN
    answers = [
        model.predict(text, interventions=intervention)
        for intervention in (el.Ablate(ALL), el.KnockOut(None, None), el.ZeroValues(None), el.Scale(ALL, 0.0))
    ]
    assert all(answer.ids == answers[0].ids for answer in answers)
    assert answers[0].probabilities != model.predict(text).probabilities


def test_an_intervention_that_makes_the_answer_no_number_is_named() -> None:
    with pytest.raises(TraceError, match=r"With L0·H0, .* times 1e\+38 the model answers with nan or infinite"):
        masked().predict(TEXT, interventions=el.Scale(ALL, 1e38))


def test_a_model_that_answers_with_a_number_is_refused() -> None:
    config = t.BertConfig(**TINY, num_labels=1)
    model = el.wrap(t.BertForSequenceClassification(config).eval(), tiny_tokenizer(), name="tiny-number")
    for measure in (
        lambda: el.causes(model, CORPUS),
        lambda: el.circuit(model, PLAIN, CORPUS[1]),
        lambda: el.analyse(model, CORPUS, [el.attributions.Faithfulness(["rollout"])]),
    ):
        with pytest.raises(EyelineError, match="answers with a number"):
            measure()
