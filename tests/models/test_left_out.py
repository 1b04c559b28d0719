"""Families of which some layers or stacks have no weight for every pair of tokens: those are left out and named, the others are shown."""

from __future__ import annotations

import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from tests.families.small_models import own_inputs, small_model
from tests.models.families import tiny_tokenizer

TEXT = "the cat sat on the mat ."


def test_an_encoder_with_windows_is_left_out_and_decoder_and_cross_are_the_models_own():
    hf = small_model("led")
    model = el.wrap(hf, tiny_tokenizer())
    assert model.layout.stacks == ("decoder", "cross")
    (notice,) = model.notices
    assert "encoder's attention in all layers is in windows" in notice
    trace = model.trace_inputs(own_inputs(hf))
    with torch.no_grad():
        own = hf(**own_inputs(hf), output_attentions=True, use_cache=False)
    for stack, maps in (("decoder", own.decoder_attentions), ("cross", own.cross_attentions)):
        assert torch.equal(torch.as_tensor(getattr(trace, stack).weights), torch.cat(list(maps)))


def test_layers_of_linear_attention_are_left_out_and_the_others_keep_their_numbers():
    model = el.wrap(small_model("minimax"), tiny_tokenizer())
    types = model.hf.config.layer_types
    assert model.layout.layers("decoder") == tuple(i for i, kind in enumerate(types) if kind == "full_attention")
    assert f"in layers {', '.join(str(i) for i, kind in enumerate(types) if kind != 'full_attention')} " in model.notices[0]
    trace = model.trace(TEXT)
    assert torch.as_tensor(trace.decoder.weights).sum(-1).sub(1).abs().max() < 1e-5
    assert trace.notices == model.notices


def test_stacks_that_report_scores_are_left_out_and_a_model_of_scores_alone_is_refused():
    model = el.wrap(small_model("prophetnet"), tiny_tokenizer())
    assert "encoder" not in model.layout.stacks
    assert any("scores before the softmax" in notice for notice in model.notices)
    with pytest.raises(ModelError, match="scores before the softmax"):
        el.wrap(small_model("squeezebert"), tiny_tokenizer())


def test_a_model_whose_windows_hide_in_a_small_image_is_refused_and_left_as_it_was():
    config = t.Swinv2Config(image_size=64, embed_dim=16, depths=[2, 2], num_heads=[2, 4], window_size=4)
    torch.manual_seed(0)
    hf, image = t.Swinv2Model(config).eval(), torch.randn(1, 3, 64, 64)
    with torch.no_grad():
        before = hf(image).last_hidden_state
    with pytest.raises(ModelError, match="in windows"):
        el.wrap(hf)
    with torch.no_grad():
        assert torch.equal(hf(image).last_hidden_state, before)


def test_a_model_that_was_built_without_maps_says_how_to_load_it():
    with pytest.raises(ModelError, match='attn_implementation="eager"'):
        el.wrap(small_model("data2vec-vision"))


@pytest.mark.parametrize("name", ["videomae", "audio-spectrogram-transformer", "glmasr_encoder", "parakeet_ctc", "smolvlm_vision"])
def test_videos_spectrograms_and_towers_that_misname_their_input_are_recorded(name):
    assert el.wrap(small_model(name)).layout.recorded
