"""One guard for all passes of this process: no dropout, whoever wrapped the model; and a configuration of its own for each model."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.attributions import METHODS
from eyeline.errors import ModelError
from eyeline.models.evaluation import evaluating
from tests.measure.causes.tiny import loud
from tests.models.families import GPT, TINY, tiny_tokenizer
from tests.models.headed_models import masking_tokenizer

TEXT = "the cat sat on the mat ."
MASKED = "the [MASK] sat on the mat ."


def bert(config: t.BertConfig | None = None) -> t.BertForMaskedLM:
    torch.manual_seed(0)
    hf = t.BertForMaskedLM(config or t.BertConfig(**TINY, hidden_dropout_prob=0.4, attention_probs_dropout_prob=0.4))
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return hf.eval()


def in_threads(*work: Callable[[], None]) -> list[Exception]:
    """Run all at once, each in a thread; what they raised."""
    errors: list[Exception] = []

    def run(function: Callable[[], None]) -> None:
        try:
            function()
        except Exception as error:  # noqa: BLE001 - returned
            errors.append(error)

    threads = [threading.Thread(target=run, args=(function,)) for function in work]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return errors


@pytest.mark.parametrize("parts", [("", "", "", ""), ("", "bert", "", "bert")], ids=["the model", "the model and its parts"])
def test_four_wraps_of_one_model_in_training_mode_record_no_dropout(parts):
    expected = el.wrap(bert(), tiny_tokenizer()).trace(TEXT).weights
    hf = bert().train()
    opened = [el.wrap(hf.get_submodule(part), tiny_tokenizer()) for part in parts]
    seen: list[np.ndarray] = []

    def passes(model: el.Model) -> None:
        seen.extend(model.trace(TEXT).weights for _ in range(60))

    assert in_threads(*(lambda model=model: passes(model) for model in opened)) == []
    assert len(seen) == 60 * len(opened)
    assert max(np.abs(weights - expected).max() for weights in seen) < 1e-6
    assert all(module.training for module in hf.modules())


def test_a_model_that_is_wrapped_again_and_again_while_others_trace_it_gives_no_wrong_number():
    expected = el.wrap(bert(), tiny_tokenizer()).trace(TEXT).weights
    hf = bert().train()
    seen: list[np.ndarray] = []
    work = [lambda: seen.extend(el.wrap(hf, tiny_tokenizer()).trace(TEXT).weights for _ in range(5))] * 4
    assert in_threads(*work) == []
    assert len(seen) == 20
    assert max(np.abs(weights - expected).max() for weights in seen) < 1e-6
    assert all(module.training for module in hf.modules())


def test_causes_and_traces_in_threads_share_one_guard():
    def gradients(model: el.Model) -> np.ndarray:
        return el.attribute(model, MASKED, method="gradient").weights

    expected = gradients(el.wrap(bert(), masking_tokenizer()))
    hf = bert().train()
    models = [el.wrap(hf, masking_tokenizer()) for _ in range(2)]
    seen: list[np.ndarray] = []
    errors = in_threads(
        lambda: seen.extend(gradients(models[0]) for _ in range(8)), lambda: [models[1].trace(TEXT) for _ in range(40)] and None
    )
    assert errors == []
    assert max(np.abs(weights - expected).max() for weights in seen) < 1e-6
    assert all(module.training for module in hf.modules())


@pytest.mark.parametrize("method", METHODS)
def test_no_quantity_has_dropout_in_it(method):
    config = t.GPT2Config(**{**GPT, "attn_pdrop": 0.5, "resid_pdrop": 0.5, "embd_pdrop": 0.5})
    model = el.wrap(loud(t.GPT2LMHeadModel(config)), tiny_tokenizer())
    expected = el.attribute(model, TEXT, method=method)
    model.hf.train()
    given = el.attribute(model, TEXT, method=method)
    assert np.array_equal(given.weights, expected.weights)
    assert given.prediction == expected.prediction
    assert all(module.training for module in model.hf.modules())


def test_no_answer_has_dropout_in_it():
    config = t.BertConfig(**{**TINY, "classifier_dropout": 0.9, "hidden_dropout_prob": 0.5})
    torch.manual_seed(0)
    model = el.wrap(loud(t.BertForSequenceClassification(config)), tiny_tokenizer())
    trace, prediction = model.trace(TEXT), model.predict(TEXT)
    model.hf.train()
    assert [model.trace(TEXT).prediction for _ in range(5)] == [trace.prediction] * 5
    assert [model.predict(TEXT) for _ in range(5)] == [prediction] * 5


def test_a_pass_that_begins_after_train_was_called_does_not_hide_it_from_one_that_is_running():
    hf = bert()
    model = el.wrap(hf, tiny_tokenizer())

    def train_and_trace(_: object) -> None:
        hf.train()
        with evaluating(hf.bert):
            assert not hf.bert.training

    with pytest.raises(ModelError, match="training mode during a pass"):
        model.each_layer([TEXT], train_and_trace)
    assert all(module.training for module in hf.modules())


def test_a_part_stays_in_evaluation_mode_until_the_last_pass_through_it_has_ended():
    hf = bert().train()
    with evaluating(hf):
        with evaluating(hf.bert):
            pass
        assert not any(module.training for module in hf.modules())
    assert all(module.training for module in hf.modules())


def test_a_model_is_not_opened_within_its_own_pass():
    hf = bert()
    model = el.wrap(hf, tiny_tokenizer())
    with pytest.raises(ModelError, match="while a pass of it is running"):
        model.each_layer([TEXT], lambda _: el.wrap(hf, tiny_tokenizer()))
    assert model.trace(TEXT).weights.shape[0] == 3


def test_wrapping_a_model_does_not_switch_another_that_was_built_from_the_same_configuration():
    config = t.BertConfig(**TINY)
    hf, other = bert(config), bert(config)
    hf.set_attn_implementation("sdpa")
    expected = other(torch.tensor([[1, 5, 6, 2]])).logits
    el.wrap(hf, tiny_tokenizer())
    assert config._attn_implementation == "sdpa"
    assert {module.config._attn_implementation for module in other.modules() if hasattr(module, "config")} == {"sdpa"}
    assert torch.equal(other(torch.tensor([[1, 5, 6, 2]])).logits, expected)


def test_what_is_changed_through_the_models_configuration_reaches_its_modules_after_any_number_of_wraps():
    hf = bert()
    el.wrap(hf, tiny_tokenizer())
    config = hf.config
    el.wrap(hf, tiny_tokenizer())
    el.wrap(hf.bert, tiny_tokenizer())
    assert hf.config is config
    assert all(module.config is config for module in hf.modules() if hasattr(module, "config"))


def test_a_model_built_from_the_configuration_of_an_open_one_is_independent_of_it():
    model = el.wrap(bert(), tiny_tokenizer())
    other = t.BertForMaskedLM(model.hf.config)
    el.wrap(other, tiny_tokenizer())
    other.set_attn_implementation("sdpa")
    assert model.hf.config._attn_implementation == "eyeline"
    assert model.trace(TEXT).weights.shape == (3, 4, 9, 9)
    assert copy.deepcopy(model).trace(TEXT).weights.shape == (3, 4, 9, 9)


def test_a_forward_that_was_compiled_by_itself_is_recorded_as_it_was_written():
    model = el.wrap(bert(), masking_tokenizer())
    expected, answer = model.trace(TEXT).weights, model.predict(MASKED).probabilities
    before = bert()
    before.forward = torch.compile(before.forward, backend="eager")
    assert np.array_equal(el.wrap(before, masking_tokenizer()).trace(TEXT).weights, expected)
    for owner in (model.hf, model.hf.bert, model.hf.bert.encoder.layer[1]):
        owner.forward = torch.compile(owner.forward, backend="eager")
        assert np.array_equal(model.trace(TEXT).weights, expected)
        assert model.predict(MASKED).probabilities == answer


def test_compiled_code_is_compiled_again_after_the_last_of_overlapping_passes():
    hf = bert()
    hf.compile(backend="eager")
    stance = torch._dynamo.eval_frame._stance.stance
    first, second = evaluating(hf), evaluating(hf.bert.encoder)
    hf.bert.encoder.compile(backend="eager")
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert torch._dynamo.eval_frame._stance.stance == "force_eager"
    second.__exit__(None, None, None)
    assert torch._dynamo.eval_frame._stance.stance == stance


def test_a_forward_that_was_replaced_by_other_code_gives_the_changed_models_answer_or_our_error():
    plain = el.wrap(bert(), masking_tokenizer())
    changes = [el.Ablate([(1, 2)])]
    expected = plain.predict(MASKED, interventions=changes).probabilities
    hf = bert()
    own = hf.forward
    hf.forward = lambda *args, **kwargs: own(*args, **kwargs)
    model = el.wrap(hf, masking_tokenizer())
    assert np.allclose(model.predict(MASKED, interventions=changes).probabilities, expected, atol=1e-6)
    assert np.array_equal(model.trace(TEXT).weights, plain.trace(TEXT).weights)
    plain.hf.forward = lambda *args, **kwargs: own(*args, **kwargs)
    with pytest.raises(ModelError, match="was replaced by code that is not its own"):
        plain.predict(MASKED, interventions=changes)
