"""Tiny random models that answer: a masked language model, a decoder, a gated decoder with shared keys, a classifier."""

from __future__ import annotations

from functools import cache

import torch
import transformers as t

import eyeline as el
from tests.models.families import GPT, GROUPED, TINY, tiny_tokenizer

TEXT = "the cat sat on the [MASK] ."
PLAIN = "the cat sat on the mat ."


def masking_tokenizer() -> t.PreTrainedTokenizerFast:
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"mask_token": "[MASK]"})
    return tokenizer


def loud(hf: t.PreTrainedModel, by: float = 4.0) -> t.PreTrainedModel:
    """Larger weights, so that attention is far from uniform; biases that are not zero."""
    generator = torch.Generator().manual_seed(1)
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                parameter.mul_(by)
            elif name.endswith("bias"):
                parameter.copy_(0.1 * torch.randn(parameter.shape, generator=generator))
    return hf.eval()


@cache
def masked() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(loud(t.BertForMaskedLM(t.BertConfig(**TINY))), masking_tokenizer(), name="tiny-masked")


@cache
def decoder() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(loud(t.GPT2LMHeadModel(t.GPT2Config(**GPT))), tiny_tokenizer(), name="tiny-decoder")


@cache
def classifying_decoder() -> el.Model:
    """It knows no padding."""
    torch.manual_seed(0)
    return el.wrap(loud(t.GPT2ForSequenceClassification(t.GPT2Config(**GPT))), tiny_tokenizer(), name="tiny-classifying-decoder")


@cache
def gated() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(loud(t.LlamaForCausalLM(t.LlamaConfig(**GROUPED))), tiny_tokenizer(), name="tiny-gated")


@cache
def classifier() -> el.Model:
    torch.manual_seed(0)
    labels = {0: "negative", 1: "positive"}
    config = t.BertConfig(**TINY, id2label=labels, label2id={name: i for i, name in labels.items()})
    return el.wrap(loud(t.BertForSequenceClassification(config)), tiny_tokenizer(), name="tiny-classifier")


@cache
def headless() -> el.Model:
    torch.manual_seed(0)
    return el.wrap(loud(t.BertModel(t.BertConfig(**TINY))), tiny_tokenizer(), name="tiny-headless")
