"""model.predict and trace.prediction: what the head of the checkpoint answers, against the model's own output."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError, TextError
from eyeline.look.answer import Prediction
from tests.models.families import tiny_tokenizer
from tests.models.headed_models import HEADED, LABELS, headed, masking_tokenizer, save

TEXT, PAIR = "the cat sat on the [MASK] .", "it ran home ."


@pytest.fixture(params=HEADED)
def opened(request, tmp_path) -> tuple[el.Model, t.PreTrainedModel]:
    """The model as el.load opens it from a folder, and the model that was saved there."""
    hf = save(request.param, tmp_path / "m")
    return el.load(tmp_path / "m", device="cpu"), hf


def own_output(model: el.Model, hf: t.PreTrainedModel, pair: str | None = PAIR):
    with torch.no_grad():
        return hf(**model.passes.inputs([model.read((TEXT, pair) if pair else TEXT)]))


def test_load_keeps_the_head_and_the_answer_is_that_of_the_model_itself(opened):
    model, hf = opened
    assert type(model.hf) is type(hf)
    prediction = model.predict(TEXT, PAIR)
    output = own_output(model, hf)
    example = model.read((TEXT, PAIR))
    name = type(hf).__name__
    if name == "BertForQuestionAnswering":
        first, last = prediction.span
        allowed = [i for i, segment in enumerate(example.source.segments) if segment == 1 and not example.source.special[i]]
        scores = {(a, b): float(output.start_logits[0, a] + output.end_logits[0, b]) for a in allowed for b in allowed if a <= b}
        assert (first, last) == max(scores, key=scores.get)
        assert prediction.label == PAIR[example.source.spans[first][0] : example.source.spans[last][1]]
        return
    if name == "BertForSequenceClassification":
        row, names = output.logits[0], LABELS
    elif name == "BertForTokenClassification":
        assert prediction.kind == "labels"
        assert prediction.positions == tuple(i for i, special in enumerate(example.source.special) if not special)
        assert prediction.labels == tuple(LABELS[int(output.logits[0, i].argmax())] for i in prediction.positions)
        row, names = output.logits[0, 1], LABELS
    else:
        mask = example.source.ids.index(model.tokenizer.mask_token_id)
        position = mask if name == "BertForMaskedLM" else len(example.target or example.source) - 1
        assert prediction.positions == (position,)
        row, names = output.logits[0, position], {i: model.tokenizer.decode([i]) for i in range(64)}
    best = row.softmax(-1).topk(len(prediction.ids))
    assert prediction.ids == tuple(best.indices.tolist())
    assert prediction.probabilities == pytest.approx(best.values.tolist(), abs=1e-5)
    assert prediction.label == names[prediction.ids[0]]


def test_the_trace_has_the_answer_its_attention_is_the_same_and_its_file_keeps_it(opened, tmp_path):
    model, hf = opened
    trace, prediction = model.trace(TEXT, PAIR), model.predict(TEXT, PAIR)
    assert trace.prediction.ids == prediction.ids
    assert trace.prediction.probabilities == pytest.approx(prediction.probabilities, abs=1e-5)
    trace.save(tmp_path / "t.safetensors")
    assert el.open(tmp_path / "t.safetensors").prediction == trace.prediction
    with torch.no_grad():
        hf.set_attn_implementation("eager")
        output = hf(**model.passes.inputs([model.read((TEXT, PAIR))]), output_attentions=True)
    for stack, name in model.layout.outputs.items():
        assert np.abs(trace.stacks[stack].weights[-1] - output[name][-1][0].numpy()).max() < 1e-6


def test_a_batch_of_texts_gets_the_answers_that_each_gets_alone(opened):
    model, _ = opened
    texts = [(TEXT, PAIR), ("a dog [MASK] .", PAIR), ("the [MASK] sat on [MASK]", "it purred")]
    for trace, (text, pair) in zip(model.traces(texts), texts, strict=True):
        alone = model.predict(text, pair)
        assert trace.prediction.positions == alone.positions
        assert [c.ids[0] for c in trace.prediction.choices] == [c.ids[0] for c in alone.choices]
        assert trace.prediction.probabilities == pytest.approx(alone.probabilities, abs=1e-4)


def test_an_intervention_changes_the_answer_and_the_trace_says_so(opened):
    model, _ = opened
    stack = "encoder" if "encoder" in model.layout.stacks else "decoder"
    ablated = el.Ablate([(stack, 0, head) for head in range(4)])
    plain, changed = model.predict(TEXT, PAIR), model.predict(TEXT, PAIR, interventions=ablated)
    assert changed.probabilities != pytest.approx(plain.probabilities, abs=1e-4)
    assert model.trace(TEXT, PAIR, interventions=ablated).prediction.probabilities == pytest.approx(changed.probabilities, abs=1e-5)


def test_passes_that_record_attention_do_not_run_the_head():
    model = el.wrap(headed("BertForMaskedLM"), masking_tokenizer(), name="m")
    runs = []
    handle = model.hf.cls.register_forward_hook(lambda *_: runs.append(1))
    try:
        model.trace("the cat sat .")
        assert not runs
        model.trace(TEXT)
        assert len(runs) == 1
    finally:
        handle.remove()


def test_a_checkpoint_without_the_weights_of_its_head_opens_without_it(tmp_path):
    hf = headed("BertForSequenceClassification")
    hf.bert.save_pretrained(tmp_path)
    masking_tokenizer().save_pretrained(tmp_path)
    config = t.AutoConfig.from_pretrained(tmp_path)
    config.architectures = ["BertForSequenceClassification"]
    config.save_pretrained(tmp_path)
    model = el.load(tmp_path, device="cpu")
    assert type(model.hf) is t.BertModel
    assert model.trace(TEXT).prediction is None
    with pytest.raises(ModelError, match="answers nothing: its checkpoint holds no head"):
        model.predict(TEXT)


def test_a_masked_language_model_answers_only_at_masks():
    model = el.wrap(headed("BertForMaskedLM"), masking_tokenizer(), name="m")
    assert model.trace("the cat sat .").prediction is None
    with pytest.raises(TextError, match=r"No \[MASK\] in the text"):
        model.predict("the cat sat .")
    assert model.predict("the [MASK] sat on [MASK] .").positions == (2, 5)
    with pytest.raises(ModelError, match="has no mask token"):
        el.wrap(headed("BertForMaskedLM"), tiny_tokenizer(), name="m").predict("the cat .")


def test_weights_that_are_not_numbers_give_an_error_and_not_an_answer():
    hf = headed("BertForSequenceClassification")
    model = el.wrap(hf, masking_tokenizer(), name="m")
    with torch.no_grad():
        hf.classifier.bias.fill_(torch.nan)
    with pytest.raises(ModelError, match="not finite"):
        model.predict("the cat .")


def test_a_file_of_an_older_version_opens_without_an_answer(tmp_path):
    assert Prediction.from_json(None) is None
    trace = el.wrap(headed("GPT2LMHeadModel"), masking_tokenizer(), name="m").trace("the cat .")
    replace(trace, prediction=None).save(tmp_path / "old.safetensors")
    assert el.open(tmp_path / "old.safetensors").prediction is None
