"""The numbers of TransformerLens 4.3, inseq 0.7.1 and ALTI's authors for tiny models, written once (tests/reference/attribution)."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.attributions import METHODS, head_scores
from eyeline.errors import ModelError
from eyeline.measure.causes.quantities import Subject
from eyeline.models.inputs import Example
from eyeline.models.objective import Answer, AnsweredText
from tests.measure.causes.tiny import masked
from tests.reference.attribution import write_alti
from tests.reference.attribution.tiny_decoder import IDS, tiny_decoder
from tests.reference.attribution.write_truth import PATH


@pytest.fixture(scope="module")
def truth() -> dict[str, Any]:
    return json.loads(PATH.read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def model() -> el.Model:
    return el.wrap(tiny_decoder(), None, name="tiny-gpt2")


def subject(model: el.Model, truth: dict[str, Any]) -> Subject:
    ids = truth["ids"]
    inputs = {"input_ids": torch.tensor([ids])}
    example = Example(el.traces.TokenizedText.from_tokens([str(i) for i in ids]))
    answer = Answer("next", truth["transformer_lens"]["answer"], len(ids) - 1, "answer")
    return Subject(model, example, inputs, answer.position, AnsweredText(model, model.hf, example, inputs, answer))


def test_direct_logit_attribution_is_that_of_transformer_lens(model: el.Model, truth: dict[str, Any]) -> None:
    outcome = METHODS["logits"].compute(subject(model, truth))
    by_head = outcome.maps[:, :, -1].sum(axis=-1)  # [layer, head]
    assert np.allclose(by_head, truth["transformer_lens"]["head_logits"], atol=1e-5)


def test_value_zeroing_is_that_of_inseq(model: el.Model, truth: dict[str, Any]) -> None:
    outcome = METHODS["value-zeroing"].compute(subject(model, truth))
    assert np.allclose(outcome.maps[0, 0], truth["inseq"]["value_zeroing"], atol=1e-4)


@pytest.mark.parametrize("name", ["previous", "duplicate", "induction"])
def test_head_scores_are_those_of_detect_head(model: el.Model, truth: dict[str, Any], name: str) -> None:
    table = head_scores(model, truth["ids"])
    assert np.allclose(table[name].reshape(2, 3), truth["transformer_lens"]["scores"][name], atol=1e-4)


def test_copying_scores_are_those_of_the_whole_matrix(model: el.Model, truth: dict[str, Any]) -> None:
    table = head_scores(model, truth["ids"])
    assert np.allclose(table["copying"].reshape(2, 3), truth["transformer_lens"]["eigenvalue_copying"], atol=1e-4)


def test_alti_is_that_of_its_authors() -> None:
    """Their own code for BERT, layer by layer from the input on (tests/reference/attribution/write_alti.py)."""
    model = el.wrap(write_alti.tiny_encoder(), None, name="tiny-bert")
    example = Example(el.traces.TokenizedText.from_tokens([str(i) for i in IDS]))
    outcome = METHODS["alti"].compute(Subject(model, example, {"input_ids": torch.tensor([IDS])}, 0, None))
    truth = json.loads(write_alti.PATH.read_text(encoding="utf-8"))
    assert np.allclose(outcome.maps[:, 0], truth["rollout"], atol=1e-4)


def test_head_scores_of_an_encoder_are_refused() -> None:
    with pytest.raises(ModelError, match="is not a decoder"):
        head_scores(masked())
