"""From documents to what a model reads."""

from __future__ import annotations

import pytest
import torch
import transformers as t

import eyeline as el
from eyeline.errors import ModelError
from eyeline.measure.statistics.prepare import Preparation
from tests.models.families import SEQ2SEQ, TINY, tiny_tokenizer


def test_an_encoder_decoders_two_texts_are_each_held_to_the_limit():
    torch.manual_seed(0)
    config = t.BartConfig(**SEQ2SEQ, encoder_layers=1, decoder_layers=1, decoder_attention_heads=4)
    model = el.wrap(t.BartModel(config).eval(), tiny_tokenizer())
    source, target = "the cat sat on the mat . " * 4, "it purred and ran home , " * 5
    preparation = Preparation(model)
    (example,) = preparation.read(el.corpora.Document((source, target), 1))
    assert example.target is not None
    assert len(example.source) + len(example.target) > model.max_tokens
    assert preparation.read(el.corpora.Document((source, "it ran " * 60), 1)) == []
    assert preparation.counts["too_long"] == 1


def test_importance_of_a_model_outside_the_interface_offers_no_other_checkpoint():
    model = el.wrap(t.MPNetModel(t.MPNetConfig(**TINY)).eval(), tiny_tokenizer())
    with pytest.raises(ModelError, match="outside transformers' attention interface") as refused:
        el.analyse(model, ["the cat"], [el.statistics.Importance()])
    assert "ForMaskedLM" not in str(refused.value)


def test_what_a_model_reads_at_most_is_said_for_images_too():
    image = t.Dinov2Model(t.Dinov2Config(hidden_size=32, num_hidden_layers=1, num_attention_heads=4, image_size=56, patch_size=4))
    assert el.wrap(image.eval()).longest_input == "an image of 56 x 56 pixels"
    assert el.wrap(t.BertModel(t.BertConfig(**TINY)).eval(), tiny_tokenizer()).longest_input == "a text of 48 tokens"
