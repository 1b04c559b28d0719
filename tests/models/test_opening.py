"""What opening finds out: models that answer differently when watched, change themselves, count otherwise, or hide their body."""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from tests.models.families import GPT, GROUPED, TINY, VOCAB, tiny_tokenizer
from tests.models.left import differences, facts
from tests.models.unusual import (
    DECODER,
    FORMS,
    SPECIAL,
    WITHOUT_BASE,
    OwnConfig,
    OwnModel,
    big_bird,
    big_bird_pegasus,
    falcon,
    loud,
    vision_and_text,
)

TEXT = "the cat sat on the mat ."
IDS = torch.tensor([[1, 5, 6, 7, 2]])


def own_maps(hf: t.PreTrainedModel, ids: torch.Tensor) -> list[np.ndarray]:
    with torch.no_grad():
        return [weights[0].float().numpy() for weights in hf(input_ids=ids, use_cache=False, output_attentions=True).attentions]


# ---- A model that answers differently when its attention is requested


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16], ids=str)
@pytest.mark.parametrize("form", FORMS)
def test_falcon_with_transformers_default_attention_gives_the_maps_that_it_computes_with(form, dtype):
    hf = falcon(**FORMS[form]).to(dtype)
    assert hf.config._attn_implementation == "sdpa"
    eager = copy.deepcopy(hf)
    eager.config._attn_implementation = "eager"
    model = el.wrap(hf, tiny_tokenizer())
    trace = model.trace(TEXT)
    assert model.layout.stacks == ("decoder",)
    assert np.abs(np.triu(trace.weights, 1)).max() == 0
    for weights, own in zip(trace.weights, own_maps(eager, torch.tensor([trace.text.ids])), strict=True):
        assert np.abs(weights - own).max() < 1e-6


def test_a_model_whose_maps_are_of_another_computation_is_refused_and_left_as_it_was():
    """Falcon with ALiBi counts it twice in transformers' eager code, once with SDPA."""
    hf = falcon(alibi=True, multi_query=False)
    before = facts(hf), hf(IDS).logits
    with pytest.raises(ModelError, match=r"answers differently when its attention is requested(.|\n)*eager"):
        el.wrap(hf, tiny_tokenizer())
    assert differences(before[0], facts(hf)) == []
    assert hf.config._attn_implementation == "sdpa"
    assert torch.equal(hf(IDS).logits, before[1])


# ---- A model that changes itself in a pass


@pytest.mark.parametrize("make", [big_bird, big_bird_pegasus])
def test_block_sparse_attention_is_still_block_sparse_after_opening_and_after_a_short_text(make):
    hf = make()
    long_text = {"input_ids": torch.arange(40)[None] % 60 + 3}
    if hf.config.is_encoder_decoder:
        long_text["decoder_input_ids"] = IDS
    with torch.no_grad():
        expected = copy.deepcopy(hf)(**long_text).logits
    before = facts(hf)
    model = el.wrap(hf, tiny_tokenizer())
    text = (TEXT, "it ran") if hf.config.is_encoder_decoder else (TEXT,)
    trace = model.trace(*text)
    assert differences(before, facts(hf)) == []
    full = make()
    (full.model.encoder if hf.config.is_encoder_decoder else full.bert).set_attention_type("original_full")
    full.set_attn_implementation("eager")
    inputs = {"input_ids": torch.tensor([trace.encoder.query_text.ids])}
    if hf.config.is_encoder_decoder:
        inputs["decoder_input_ids"] = torch.tensor([trace.decoder.query_text.ids])
    with torch.no_grad():
        output = full(**inputs, output_attentions=True)
        own = output["encoder_attentions" if hf.config.is_encoder_decoder else "attentions"]
        assert (hf(**long_text).logits - expected).abs().max() < 1e-5
    for weights, reported in zip(trace.encoder.weights_by_layer, own, strict=True):
        assert np.abs(weights - reported[0].numpy()).max() < 1e-6


def test_a_text_for_which_other_parts_run_than_were_checked_is_refused():
    model = el.wrap(big_bird(), tiny_tokenizer())
    with pytest.raises(ModelError, match="other parts than when it was opened"):
        model.trace("the cat " * 15)
    assert model.trace(TEXT).weights.shape == (3, 4, 9, 9)


@pytest.mark.parametrize(
    "hf",
    [
        lambda: t.BertForMaskedLM(t.BertConfig(**TINY)),
        lambda: t.LlamaForCausalLM(t.LlamaConfig(**GROUPED)),
        lambda: t.SwinModel(t.SwinConfig(image_size=16, patch_size=2, embed_dim=8, depths=[1, 1], num_heads=[2, 2], window_size=4)),
        lambda: t.XLNetModel(t.XLNetConfig(vocab_size=VOCAB, d_model=32, n_layer=2, n_head=4, d_inner=32)),
    ],
    ids=["bert", "llama", "swin", "xlnet"],
)
@pytest.mark.parametrize("training", [True, False], ids=["train", "eval"])
def test_a_model_is_left_as_it_was_whether_it_was_opened_or_refused(hf, training):
    hf = loud(hf()).train(training)
    hf.set_attn_implementation("eager")
    inputs = {"pixel_values": torch.ones(1, 3, 16, 16)} if hf.main_input_name == "pixel_values" else {"input_ids": IDS}

    def output() -> torch.Tensor:
        torch.manual_seed(3)
        with torch.no_grad():
            return hf(**inputs)[0]

    first, before = output(), facts(hf)
    try:
        model = el.wrap(hf, tiny_tokenizer() if "input_ids" in inputs else None)
    except ModelError:
        model = None
    assert differences(before, facts(hf)) == []
    assert (output() - first).abs().max() < 1e-5
    if model is not None and model.layout.recorded:
        model.trace_inputs(inputs)
        assert differences(before, facts(hf)) == []


# ---- The number of attention calls


@pytest.mark.parametrize("images", [1, 2])
def test_a_tower_whose_calls_would_fill_the_decoders_slots_is_told_from_the_decoder(images):
    """Both have two layers, and the tower runs first: which call is which is found on the picture itself."""
    inputs = {"input_ids": torch.tensor([[1, *[40] * 17 * images, 5, 6]]), "pixel_values": torch.ones(images, 3, 16, 16)}
    hf = vision_and_text()
    hf.set_attn_implementation("eager")
    with torch.no_grad():
        own = hf(**inputs, output_attentions=True).attentions
    model = el.wrap(hf, tiny_tokenizer())
    trace = model.trace_inputs(inputs)
    assert np.array_equal(trace.stacks["decoder"].weights, torch.cat(own).numpy())
    picture = el.wrap(model.hf.model.vision_tower).trace_inputs({"pixel_values": torch.ones(1, 3, 16, 16)})
    if images == 1:
        assert np.array_equal(trace.stacks["vision"].weights, picture.weights)
    else:
        assert list(trace.stacks) == ["decoder"]
        assert "there are several pictures" in str(trace.notices[0])
    assert model.trace(TEXT).weights.shape == (2, 4, 9, 9)


def without_a_layer(model: el.Model) -> None:
    model.hf.transformer.h = model.hf.transformer.h[:2]


def with_a_layer_twice(model: el.Model) -> None:
    model.hf.transformer.h.append(model.hf.transformer.h[0])


@pytest.mark.parametrize(("change", "n_calls"), [(without_a_layer, 2), (with_a_layer_twice, 4)])
@pytest.mark.parametrize(
    "ask",
    [
        lambda model: model.trace(TEXT),
        lambda model: model.each_layer([TEXT], lambda _: None),
        lambda model: model.predict(TEXT),
        lambda model: model.passes.layers_without_maps([model.read(TEXT)], lambda _: None),
        lambda model: el.attribute(model, TEXT, method="gradient"),
        lambda model: el.attribute(model, TEXT, method="norms"),
        lambda model: el.circuit(model, "the cat sat", "the dog sat", answer=5, against=6),
        lambda model: el.analyse(model, [TEXT], [el.statistics.Importance()]),
    ],
    ids=["trace", "layers", "predict", "scores", "gradient", "norms", "circuit", "importance"],
)
def test_too_few_and_too_many_calls_are_refused_everywhere(ask, change, n_calls):
    model = el.wrap(loud(t.GPT2LMHeadModel(t.GPT2Config(**GPT))), tiny_tokenizer())
    change(model)
    with pytest.raises(ModelError, match=f"made {n_calls} attention calls in this pass, and 3 when it was opened"):
        ask(model)


# ---- Maps of a window at a length that is its own


def test_a_window_that_is_as_wide_as_the_tiny_text_is_no_map():
    longformer = t.LongformerModel(t.LongformerConfig(**{**TINY, "max_position_embeddings": 80}, attention_window=8)).eval()
    with pytest.raises(ModelError, match=r"in windows, pooled or hashed \(shape \[1, 4, 12, 9\]"):
        el.wrap(longformer, tiny_tokenizer())
    positions = {"max_encoder_position_embeddings": 64, "max_decoder_position_embeddings": 64}
    sizes = {key: value for key, value in DECODER.items() if key != "max_position_embeddings"}
    model = el.wrap(t.LEDModel(t.LEDConfig(**sizes, **positions, attention_window=8)).eval(), tiny_tokenizer())
    assert model.layout.stacks == ("decoder", "cross")
    assert "encoder's attention in all layers is in windows" in model.notices[0]


# ---- Heads that pass by the base model


@pytest.mark.parametrize("name", WITHOUT_BASE)
def test_a_causal_model_whose_head_reads_an_inner_part_answers_as_it_does_itself(name):
    hf = loud(WITHOUT_BASE[name]())
    model = el.wrap(hf, tiny_tokenizer())
    trace = model.trace(TEXT)
    with torch.no_grad():
        expected = hf(input_ids=torch.tensor([trace.text.ids])).logits[0, -1].softmax(-1)
    for answer in (trace.prediction, model.predict(TEXT)):
        assert answer is not None
        assert answer.ids[0] == int(expected.argmax())
        assert abs(answer.probabilities[0] - float(expected.max())) < 1e-6
    assert el.analyse(model, [TEXT, "a dog ran home"], [el.statistics.Entropy()]).table("entropy")
    if not model.layout.recorded:
        for call in (
            lambda: el.causes(model, [TEXT]),
            lambda: el.circuit(model, "the cat sat", "the dog sat", answer=5, against=6),
            lambda: el.attribute(model, TEXT, method="gradient"),
        ):
            with pytest.raises(ModelError, match="only its weights are available"):
                call()
        return
    assert model._body is not hf
    assert el.causes(model, [TEXT, "a dog ran home"]).tables
    assert el.circuit(model, "the cat sat", "the dog sat", answer=5, against=6, positions=False).tables
    assert el.attribute(model, TEXT, method="gradient").weights.shape == (2, 4, 9, 9)


# ---- Code of others


@pytest.mark.parametrize("implementation", ["eager", "sdpa"])
def test_code_that_looks_its_attention_function_up_itself_is_recorded(implementation):
    hf = loud(OwnModel(OwnConfig()))
    assert not hf._can_set_attn_implementation()
    hf.config._attn_implementation = implementation
    model = el.wrap(hf, tiny_tokenizer())
    assert model.layout.recorded
    trace = model.trace(TEXT)
    assert trace.queries.shape == (2, 2, 9, 4)
    hf.config._attn_implementation = "eager"
    for weights, own in zip(trace.weights, hf(torch.tensor([trace.text.ids]), output_attentions=True).attentions, strict=True):
        assert np.abs(weights - own[0].detach().numpy()).max() < 1e-6


# ---- True reasons


CLIP_TEXT = {**SPECIAL, "hidden_size": 32, "intermediate_size": 32, "num_attention_heads": 4, "num_hidden_layers": 2}
CLIP_VISION = {
    "hidden_size": 32,
    "intermediate_size": 32,
    "num_attention_heads": 4,
    "num_hidden_layers": 2,
    "image_size": 16,
    "patch_size": 4,
}
BLIP = {"text_config": {**CLIP_TEXT, "encoder_hidden_size": 32, "max_position_embeddings": 64}, "vision_config": CLIP_VISION}
FLAUBERT = {"vocab_size": VOCAB, "emb_dim": 32, "n_layers": 2, "n_heads": 4, "max_position_embeddings": 64}


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda: t.CLIPModel(t.CLIPConfig(text_config=CLIP_TEXT, vision_config=CLIP_VISION, projection_dim=32)), r"text_model\), .*vision"),
        (lambda: t.BlipModel(t.BlipConfig(**BLIP, projection_dim=32)), r"reads input_ids together with pixel_values.*hf\.vision_model"),
        (lambda: t.BlipForConditionalGeneration(t.BlipConfig(**BLIP)), "reads pixel_values together with input_ids"),
        (lambda: t.ViltModel(t.ViltConfig(**CLIP_TEXT, image_size=16, patch_size=4)), "reads input_ids together with pixel_values"),
        (lambda: t.FlaubertForMultipleChoice(t.FlaubertConfig(**FLAUBERT)), r"several texts at once.*el\.wrap\(hf\.transformer\)"),
    ],
    ids=["clip", "blip", "blip captions", "vilt", "flaubert multiple choice"],
)
def test_a_model_of_several_inputs_is_refused_for_what_it_reads(make, reason):
    with pytest.raises(ModelError, match="(?s)" + reason) as refused:
        el.wrap(make().eval(), tiny_tokenizer())
    lines = str(refused.value).splitlines()
    assert " reads " in lines[0]  # what the model's own code said, which knows nothing of opening, comes last
    assert "could not be run" in lines[-1]
    assert "Is the tokeniser" not in str(refused.value)
