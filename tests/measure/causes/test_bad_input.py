"""What cannot be measured is refused in words, and the model answers as before: no heads, gradients that are not numbers, no label."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import EyelineError, ModelError, TraceError
from tests.measure.causes.tiny import PLAIN, TEXT, classifier, decoder, masked
from tests.models.families import GPT, TINY, tiny_tokenizer

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


class WithoutVectors(t.GPT2LMHeadModel):
    """It reads numbers of tokens alone."""

    def forward(self, input_ids, attention_mask=None, use_cache=None, output_attentions=None):
        return super().forward(input_ids, attention_mask=attention_mask, use_cache=use_cache, output_attentions=output_attentions)


@pytest.mark.parametrize(
    "ask",
    [
        lambda model: el.circuit(model, "the cat sat", "the dog sat", answer=5, against=6),
        lambda model: el.attribute(model, PLAIN, method="integrated-gradients"),
    ],
    ids=["circuit", "integrated gradients"],
)
def test_a_model_that_takes_no_embeddings_is_refused_for_that(ask):
    torch.manual_seed(0)
    model = el.wrap(WithoutVectors(t.GPT2Config(**GPT)).eval(), tiny_tokenizer())
    with pytest.raises(ModelError, match="takes no embeddings"):
        ask(model)


@pytest.mark.parametrize("hf", [lambda: t.XLNetModel(t.XLNetConfig(vocab_size=64, d_model=32, n_layer=2, n_head=4, d_inner=32)), None])
def test_attention_rollout_and_flow_need_the_weights_alone(hf):
    torch.manual_seed(0)
    model = decoder() if hf is None else el.wrap(hf().eval(), tiny_tokenizer())
    maps = model.trace(PLAIN).weights.mean(1)
    mixed = 0.5 * maps + 0.5 * np.eye(maps.shape[-1])
    rolled = [mixed[0]]
    for layer in mixed[1:]:
        rolled.append(layer @ rolled[-1])
    assert np.abs(el.attribute(model, PLAIN, method="rollout").weights[:, 0] - np.stack(rolled)).max() < 1e-6
    assert np.array_equal(el.attribute(model, PLAIN, method="attention").weights, model.trace(PLAIN).weights)
    flow = el.attribute(model, PLAIN, method="flow").weights[0, 0]
    assert np.abs(flow.sum(1)).min() > 0
