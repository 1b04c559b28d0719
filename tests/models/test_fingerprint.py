"""The fingerprint changes with everything that changes a model's output, so that neither a cache nor a resumed run answers for another."""

from __future__ import annotations

import numpy as np
import pytest
import torch
import transformers

import eyeline as el
from tests.capture.families import FAMILIES, TINY, tiny_tokenizer

TEXT = "the cat sat on the mat ."


def bert() -> transformers.BertModel:
    torch.manual_seed(0)
    return transformers.BertModel(transformers.BertConfig(**TINY)).eval()


def with_lora(hf):
    peft = pytest.importorskip("peft")
    config = peft.LoraConfig(target_modules=["query", "key"], r=4, lora_alpha=64, init_lora_weights=False)
    return peft.get_peft_model(hf, config)


def far_apart(first: el.Trace, second: el.Trace) -> bool:
    return bool(np.abs(first.weights - second.weights).max() > 1e-3)


def test_a_lora_adapter_that_is_switched_off_gives_another_trace_and_not_the_cached_one(tmp_path):
    adapted = with_lora(bert())
    model = el.wrap(adapted, tiny_tokenizer(), cache=tmp_path)
    on = model.trace(TEXT)
    with adapted.disable_adapter():
        off = model.trace(TEXT)
    assert far_apart(on, off)
    assert np.array_equal(model.trace(TEXT).weights, on.weights)


def test_the_active_adapter_and_whether_it_is_merged_are_part_of_the_fingerprint():
    peft = pytest.importorskip("peft")
    adapted = with_lora(bert())
    adapted.add_adapter("other", peft.LoraConfig(target_modules=["query", "key"], r=4, init_lora_weights=False))
    model = el.wrap(adapted, tiny_tokenizer())
    seen = [str(model.fingerprint)]
    adapted.set_adapter("other")
    seen.append(str(model.fingerprint))
    adapted.merge_adapter()
    seen.append(str(model.fingerprint))
    assert len(set(seen)) == 3


def test_a_number_in_a_module_is_part_of_the_fingerprint(tmp_path):
    hf = bert()
    model = el.wrap(hf, tiny_tokenizer(), cache=tmp_path)
    before, trace = str(model.fingerprint), model.trace(TEXT)
    for layer in hf.encoder.layer:
        layer.attention.self.scaling *= 30
    assert str(model.fingerprint) != before
    assert far_apart(model.trace(TEXT), trace)


def test_dynamic_quantisation_is_part_of_the_fingerprint():
    hf = bert()
    before = str(el.wrap(hf, tiny_tokenizer()).fingerprint)
    quantised = torch.ao.quantization.quantize_dynamic(hf, {torch.nn.Linear}, dtype=torch.qint8)
    model = el.wrap(quantised, tiny_tokenizer())
    after = str(model.fingerprint)
    assert after != before
    assert str(model.fingerprint) == after
    other = torch.ao.quantization.quantize_dynamic(bert_with_other_weights(), {torch.nn.Linear}, dtype=torch.qint8)
    assert str(el.wrap(other, tiny_tokenizer()).fingerprint) != after


def bert_with_other_weights() -> transformers.BertModel:
    hf = bert()
    with torch.no_grad():
        hf.encoder.layer[0].attention.self.query.weight.mul_(2)
    return hf


class Counter(torch.nn.Linear):
    """A layer whose extra state changes its output."""

    factor = 1.0

    def get_extra_state(self):
        return {"factor": self.factor}

    def set_extra_state(self, state):
        self.factor = state["factor"]

    def forward(self, hidden):
        return super().forward(hidden) * type(self).factor


def test_extra_state_is_part_of_the_fingerprint(monkeypatch):
    hf = bert()
    hf.encoder.layer[0].attention.self.query = Counter(32, 32)
    model = el.wrap(hf, tiny_tokenizer())
    before = str(model.fingerprint)
    monkeypatch.setattr(Counter, "factor", 5.0)
    assert str(model.fingerprint) != before


def test_a_model_with_forward_hooks_is_not_cached_and_cannot_be_resumed_elsewhere(tmp_path, caplog):
    hf = bert()
    model = el.wrap(hf, tiny_tokenizer(), cache=tmp_path)
    trace, before = model.trace(TEXT), str(model.fingerprint)
    handle = hf.embeddings.register_forward_hook(lambda _module, _inputs, output: output * 5)
    assert far_apart(model.trace(TEXT), trace)
    assert "forward hooks" in caplog.text
    assert str(model.fingerprint) != before
    assert str(model.fingerprint) != str(el.wrap(hf, tiny_tokenizer()).fingerprint)
    handle.remove()
    assert str(model.fingerprint) == before
    assert np.array_equal(model.trace(TEXT).weights, trace.weights)


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.reads == "text"], ids=str)
def test_a_pass_does_not_change_the_fingerprint_and_the_same_weights_have_the_same(family):
    model = el.wrap(family.model(), tiny_tokenizer())
    before = str(model.fingerprint)
    model.trace(TEXT, "it ran" if "cross" in family.layers else None)
    assert str(model.fingerprint) == before
    assert str(el.wrap(family.model(), tiny_tokenizer()).fingerprint) == before


def test_the_same_files_have_the_same_fingerprint_from_every_path(tmp_path, monkeypatch):
    for folder in ("one", "two"):
        bert().save_pretrained(tmp_path / folder)
        tiny_tokenizer().save_pretrained(tmp_path / folder)
    monkeypatch.chdir(tmp_path)
    fingerprints = {str(el.load(path).fingerprint) for path in ("one", tmp_path / "one", "two")}
    assert len(fingerprints) == 1  # workers open a model by its whole path, another machine elsewhere
