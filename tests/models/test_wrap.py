"""A user's model: left as it was when it is refused, in its own mode after every pass, and openable within PEFT or torch.compile."""

from __future__ import annotations

import copy
import pickle
import threading
from logging import StreamHandler

import numpy as np
import pytest
import torch
import transformers
from transformers.utils import logging as transformers_logging

import eyeline as el
from eyeline.errors import ModelError
from tests.models.changed import bert
from tests.models.families import TINY, tiny_tokenizer
from tests.models.test_identity import with_lora

TEXT = "the cat sat on the mat ."
IDS = torch.tensor([[1, 5, 6, 7, 2]])


def facts(hf) -> tuple:
    """What a refused wrap might have changed."""
    modules = list(hf.modules())
    return (
        hf.config._attn_implementation,
        [module.training for module in modules],
        [(len(module._forward_hooks), len(module._forward_pre_hooks)) for module in modules],
        [sorted(vars(module)) for module in modules],
        hf.config.to_dict(),
    )


def output(hf) -> torch.Tensor:
    torch.manual_seed(7)  # dropout
    with torch.no_grad():
        return hf(input_ids=IDS).last_hidden_state


@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_a_model_that_is_refused_after_the_switch_is_left_as_it_was(training, monkeypatch):
    hf = bert().train(training)
    hf.set_attn_implementation("sdpa")
    before, first = facts(hf), output(hf)

    def refuse(*_):
        raise ModelError("Refused.")

    monkeypatch.setattr("eyeline.models.opening._match", refuse)
    with pytest.raises(ModelError, match="Refused"):
        el.wrap(hf, tiny_tokenizer())
    assert facts(hf) == before
    assert torch.equal(output(hf), first)


def test_a_family_that_is_refused_is_left_as_it_was():
    config = transformers.SqueezeBertConfig(**TINY, embedding_size=32, q_groups=1, k_groups=1, v_groups=1, post_attention_groups=1)
    hf = transformers.SqueezeBertModel(config).train()
    before, first = facts(hf), output(hf)
    with pytest.raises(ModelError):
        el.wrap(hf, tiny_tokenizer())
    assert facts(hf) == before
    assert torch.equal(output(hf), first)


def deepseek() -> transformers.PreTrainedModel:
    sizes = {"q_lora_rank": 16, "kv_lora_rank": 16, "qk_rope_head_dim": 8, "qk_nope_head_dim": 8, "v_head_dim": 8}
    experts = {"n_routed_experts": 4, "num_experts_per_tok": 2, "n_group": 1, "topk_group": 1, "moe_intermediate_size": 16}
    index = {"first_k_dense_replace": 1, "num_key_value_heads": 4, "index_n_heads": 2, "index_head_dim": 16, "index_topk": 4}
    torch.manual_seed(0)
    config = transformers.AutoConfig.for_model("deepseek_v32", **TINY, **sizes, **experts, **index)
    return transformers.AutoModel.from_config(config, attn_implementation="eager").eval()


def test_a_model_that_recording_would_change_gives_its_own_weights_and_keeps_its_output():
    hf = deepseek()
    first = output(hf)
    model = el.wrap(hf, tiny_tokenizer())
    assert not model.layout.recorded
    trace = model.trace(TEXT)
    with torch.no_grad():
        own = hf(input_ids=torch.tensor([trace.text.ids]), output_attentions=True).attentions
    for weights, reported in zip(trace.weights, own, strict=True):
        assert np.array_equal(weights, reported[0].float().numpy())
    assert torch.equal(output(hf), first)
    with pytest.raises(ModelError, match="would change its output"):
        model.trace(TEXT, keep={"queries"})


def test_a_model_in_training_mode_is_recorded_without_dropout_and_is_in_training_mode_afterwards(tmp_path):
    hf = bert().train()
    assert hf.config.attention_probs_dropout_prob > 0
    model = el.wrap(hf, tiny_tokenizer())
    assert hf.training
    trace = model.trace(TEXT)
    assert np.abs(trace.weights.sum(-1) - 1).max() < 1e-5
    assert np.array_equal(trace.weights, el.wrap(bert(), tiny_tokenizer()).trace(TEXT).weights)
    el.analyse(model, [TEXT], [el.statistics.Entropy()])
    assert all(module.training for module in hf.modules())


def test_a_model_that_is_put_into_training_mode_during_a_pass_gives_nothing():
    hf = bert()
    model = el.wrap(hf, tiny_tokenizer())
    with pytest.raises(ModelError, match="training mode during a pass"):
        model.each_layer([TEXT], lambda _: hf.train())
    assert hf.training


def test_passes_of_several_threads_leave_the_model_in_training_mode():
    hf = bert().train()
    model = el.wrap(hf, tiny_tokenizer())
    expected = model.trace(TEXT).weights
    results = []
    threads = [threading.Thread(target=lambda: results.extend(model.trace(TEXT).weights for _ in range(5))) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(results) == 20
    assert all(np.array_equal(weights, expected) for weights in results)
    assert all(module.training for module in hf.modules())


def test_a_peft_model_is_opened_with_its_adapters():
    adapted = with_lora(bert())
    trace = el.wrap(adapted, tiny_tokenizer()).trace(TEXT)
    with torch.no_grad():
        own = adapted(input_ids=torch.tensor([trace.text.ids]), output_attentions=True).attentions
    assert np.array_equal(trace.weights, torch.cat(own).numpy())


def test_compiled_models_are_recorded_as_they_were_written():
    expected = el.wrap(bert(), tiny_tokenizer()).trace(TEXT).weights
    compiled = bert()
    compiled.compile(backend="eager")
    assert np.array_equal(el.wrap(compiled, tiny_tokenizer()).trace(TEXT).weights, expected)
    around = torch.compile(bert(), backend="eager")
    assert np.array_equal(el.wrap(around, tiny_tokenizer()).trace(TEXT).weights, expected)


def test_an_offloaded_model_is_refused_with_the_reason():
    hf = bert()
    hf.encoder.layer[1].to("meta")
    with pytest.raises(ModelError, match=r"encoder\.layer\.1.*offloaded"):
        el.wrap(hf, tiny_tokenizer())


def test_a_deep_copy_of_a_model_is_a_model_of_its_own():
    model = el.wrap(bert(), tiny_tokenizer())
    other = copy.deepcopy(model)
    assert other.hf is not model.hf
    assert other.identity() == model.identity()
    assert np.array_equal(other.trace(TEXT).weights, model.trace(TEXT).weights)


def test_a_copy_of_a_model_is_a_second_one_of_the_same_transformers_model():
    model = el.wrap(bert(), tiny_tokenizer(), name="mine")
    other = copy.copy(model)
    assert (other.hf, other.name, other.max_tokens) == (model.hf, "mine", model.max_tokens)
    assert np.array_equal(other.trace(TEXT).weights, model.trace(TEXT).weights)
    before = model.identity()
    next(other.hf.parameters()).data.mul_(2)
    assert model.identity() == other.identity() != before


def test_transformers_warns_of_nothing_when_a_model_is_wrapped_and_warns_as_before_afterwards(monkeypatch):
    """Falcon does not take its attention function from the interface, and transformers warns wherever it is asked to."""
    config = transformers.FalconConfig(vocab_size=64, hidden_size=32, num_hidden_layers=2, num_attention_heads=4)
    hf, warnings = transformers.FalconModel(config).eval(), []
    handler = StreamHandler()
    monkeypatch.setattr(handler, "emit", lambda record: warnings.append(record.getMessage()))
    verbosity = transformers_logging.get_verbosity()
    transformers_logging.set_verbosity_warning()
    transformers_logging.add_handler(handler)
    try:
        el.wrap(hf, tiny_tokenizer())
        assert warnings == []
        hf.set_attn_implementation("sdpa")
        assert ["does not support setting" in message for message in warnings] == [True]
    finally:
        transformers_logging.remove_handler(handler)
        transformers_logging.set_verbosity(verbosity)


def test_pickling_a_model_is_refused_with_what_to_do_instead():
    with pytest.raises(ModelError, match="save_pretrained"):
        pickle.dumps(el.wrap(bert(), tiny_tokenizer()))
