"""What a model declares before it is opened is what it turns out to be."""

from __future__ import annotations

import json

import pytest
import transformers as t

import eyeline as el
from eyeline.models.declared import Declared, declared
from tests.models.families import TINY
from tests.models.headed_models import HEADED, save

ANSWERS = {
    "BertForMaskedLM": "masked",
    "GPT2LMHeadModel": "next",
    "LlamaForCausalLM": "next",
    "BertForSequenceClassification": "label",
    "BertForTokenClassification": "labels",
    "BertForQuestionAnswering": "span",
    "T5ForConditionalGeneration": "next",
    "BartForConditionalGeneration": "next",
}


def check_true(known: Declared | None, model: el.Model) -> None:
    assert known is not None
    assert set(known.stacks) == set(model.layout.stacks)
    assert {heads for stack in model.layout.stacks for heads in model.layout.n_heads(stack)} == {known.heads}


@pytest.mark.parametrize("name", HEADED)
def test_a_folder_declares_its_heads_its_attention_and_its_answer(name, tmp_path):
    save(name, tmp_path)
    known, model = declared(str(tmp_path)), el.load(str(tmp_path))
    check_true(known, model)
    assert known.answers == model.answers == ANSWERS[name]
    assert known.has_one_answer == (known.answers in ("masked", "next", "label") and len(known.stacks) == 1)


@pytest.mark.parametrize(("name", "fixture"), [("minilm", "minilm"), ("e5-small", "e5_small"), ("smollm2", "smollm2")])
def test_embedded_models_are_what_they_declare(name, fixture, request):
    model, known = request.getfixturevalue(fixture), declared(name)
    check_true(known, model)
    answer = model.trace("The cat sat .").prediction
    assert known.answers == model.answers == (None if answer is None else answer.kind)


@pytest.mark.parametrize(("name", "kind"), [("e5-small-mlm", "masked"), ("e5-small-sentiment", "label")])
def test_updates_of_an_embedded_model_declare_their_answer(name, kind):
    assert declared(name) == Declared(12, ("encoder",), kind)


def test_a_model_without_a_head_and_one_that_answers_with_a_number_have_no_answer_to_measure(tmp_path):
    t.BertConfig(**TINY, architectures=["BertModel"]).save_pretrained(tmp_path / "bare")
    t.BertConfig(**TINY, architectures=["BertForSequenceClassification"], num_labels=1).save_pretrained(tmp_path / "number")
    for name in ("bare", "number"):
        known = declared(str(tmp_path / name))
        assert (known.has_loss, known.has_one_answer) == (False, False)


def test_what_cannot_be_read_is_not_known(tmp_path):
    assert declared(str(tmp_path)) is None
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "no such family"}))
    assert declared(str(tmp_path)) is None
    (tmp_path / "config.json").write_text("{")
    assert declared(str(tmp_path)) is None


def test_heads_are_comparable_where_there_are_as_many_with_attention_of_one_kind():
    encoder = Declared(12, ("encoder",), None)
    assert encoder.is_comparable(Declared(12, ("encoder", "decoder", "cross"), "next"))
    assert not encoder.is_comparable(Declared(9, ("encoder",), None))
    assert not encoder.is_comparable(Declared(12, ("decoder",), "next"))


@pytest.mark.parametrize("damage", [b"", b"\xff" * 100, b"[" * 100_000, b'{"model_type": "bert", "a": ' + b"[" * 900 + b"]" * 900 + b"}"])
def test_damaged_files_declare_nothing(tmp_path, damage):
    t.BertModel(t.BertConfig(**TINY)).save_pretrained(tmp_path)
    assert declared(str(tmp_path)) is not None
    for name in ("model.safetensors", "config.json"):
        whole = (tmp_path / name).read_bytes()
        (tmp_path / name).write_bytes(damage)
        assert declared(str(tmp_path)) is None
        (tmp_path / name).write_bytes(whole)
