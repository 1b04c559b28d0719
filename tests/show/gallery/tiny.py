"""A tiny random model, measured for the gallery once for all tests of it."""

from __future__ import annotations

from functools import lru_cache

import torch
import transformers as t

import eyeline as el
from eyeline.measure.gallery import measure_heads
from eyeline.measure.heads.profile import MeasuredHeads

LAYERS, HEADS = 2, 3


def tiny(kind: type[t.BertPreTrainedModel] = t.BertForMaskedLM) -> el.Model:
    """A loud BERT of 2 x 3 heads with the tokeniser of minilm; `BertModel` for one that answers nothing."""
    torch.manual_seed(0)
    config = t.BertConfig(hidden_size=24, num_hidden_layers=LAYERS, num_attention_heads=HEADS, intermediate_size=32)
    hf = kind(config).eval()
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            if "query" in name or "key" in name:
                parameter.mul_(40)
    return el.wrap(hf, el.load("minilm").tokenizer, name="tiny")


@lru_cache(maxsize=1)
def measured() -> MeasuredHeads:
    return measure_heads(tiny(), texts=2, sentences=40, min_count=10)
