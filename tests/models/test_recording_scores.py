"""Without the map: the fused kernel's ingredients make the same weights as the model's own attention, and no map is formed."""

from __future__ import annotations

import pytest
import torch

import eyeline as el
from eyeline.errors import ModelError
from tests.models.families import FAMILIES, Family, tiny_tokenizer

TEXTS = ["the cat sat on the mat .", "a dog ran home", "it purred , and sat"]


def weights_of(layer: el.traces.LayerAttention) -> torch.Tensor:
    scores = layer.call
    keys = scores.keys.repeat_interleave(scores.queries.shape[1] // scores.keys.shape[1], dim=1)
    logits = scores.queries @ keys.transpose(2, 3) * scores.scale  # [batch, head, query, key]
    if scores.bias is not None:
        logits = logits + scores.bias
    if scores.mask is not None and scores.mask.dtype == torch.bool:
        logits = logits.masked_fill(~scores.mask, float("-inf"))
    elif scores.mask is not None:
        logits = logits + scores.mask
    elif scores.causal:
        logits = logits.masked_fill(torch.ones_like(logits, dtype=torch.bool).triu(1), float("-inf"))
    return logits.softmax(-1)


TEXT_FAMILIES = [f for f in FAMILIES if f.reads == "text" and f.recorded]


@pytest.mark.parametrize("family", [f for f in TEXT_FAMILIES if f.plain], ids=str)
@pytest.mark.parametrize("texts", [TEXTS, TEXTS[:1]], ids=["padded", "alone"])
def test_ingredients_make_the_models_own_weights(family: Family, texts: list[str]) -> None:
    model = el.wrap(family.model(), tiny_tokenizer(), name=family.name)
    if model.hf.config.is_encoder_decoder:
        examples = [model.read((text, "the mat")) for text in texts]
    else:
        examples = [model.read(text) for text in texts]
    own: list[el.traces.LayerAttention] = []
    seen: list[el.traces.LayerAttention] = []
    model.passes.layers(examples, own.append)
    model.passes.layers_without_maps(examples, seen.append)
    assert [(a.stack, a.layer, a.n_queries, a.n_keys) for a in own] == [(a.stack, a.layer, a.n_queries, a.n_keys) for a in seen]
    for first, second in zip(own, seen, strict=True):
        for text, (rows, columns) in enumerate(zip(first.n_queries, first.n_keys, strict=True)):
            torch.testing.assert_close(
                weights_of(second)[text, :, :rows, :columns], first.weights[text, :, :rows, :columns], atol=2e-5, rtol=0
            )


@pytest.mark.parametrize("family", [f for f in TEXT_FAMILIES if not f.plain], ids=str)
def test_attention_that_is_not_plain_is_refused(family: Family) -> None:
    model = el.wrap(family.model(), tiny_tokenizer(), name=family.name)
    with pytest.raises(ModelError, match="more than a softmax"):
        model.passes.layers_without_maps([model.read(TEXTS[0])], lambda _: None)


def test_a_causal_text_alone_needs_no_mask(smollm2: el.Model) -> None:
    seen: list[el.traces.LayerAttention] = []
    smollm2.passes.layers_without_maps([smollm2.read("The cat sat on the mat.")], seen.append)
    assert all(layer.call.mask is None and layer.call.causal for layer in seen)


@pytest.mark.parametrize("family", [f for f in TEXT_FAMILIES if f.plain], ids=str)
def test_a_model_in_half_precision_is_as_plain_as_in_single(family: Family) -> None:
    half = el.wrap(family.model().half(), tiny_tokenizer(), name=family.name)
    assert half.gives.plain
