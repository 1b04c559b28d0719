"""A tiny model that can feed every statistic, and a way to add texts to one."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

import torch
import transformers as t

import eyeline as el
from eyeline.measure.statistics.loop import update_statistics
from eyeline.measure.statistics.statistic import roles_of
from eyeline.models.layout import check_layers
from eyeline.statistics import Batch, Statistic
from tests.models.families import VOCAB, tiny_tokenizer
from tests.shared_models import guarded

TEXTS: list[str | tuple[str, str]] = [
    "the cat sat on the mat .",
    "a dog ran home",
    "it purred , and sat on a very long mat , and ran , and purred .",
    ("the cat", "ran a long way home ."),
    "dog",
    "the dog and the cat ran home .",
    "a very long way",
]


@cache
def tiny_model(dtype: torch.dtype = torch.float32) -> el.Model:
    """The tiny model that all tests share, and that none may change."""
    return guarded(new_tiny_model(dtype))


def new_tiny_model(dtype: torch.dtype = torch.float32) -> el.Model:
    """A loud random BERT with its language-modelling head, so that even importance has a loss; for tests that change its weights."""
    torch.manual_seed(0)
    config = t.BertConfig(
        vocab_size=VOCAB, hidden_size=24, num_hidden_layers=3, num_attention_heads=4, intermediate_size=32, max_position_embeddings=48
    )
    hf = t.BertForMaskedLM._from_config(config, attn_implementation="eager").eval()
    with torch.no_grad():
        for name, parameter in hf.named_parameters():
            if parameter.ndim > 1 and "embed" not in name:
                parameter.mul_(6)
    tokenizer = tiny_tokenizer()
    tokenizer.mask_token = "[UNK]"
    return el.wrap(hf.to(dtype), tokenizer, name="tiny")


@cache
def tiny_decoder(dtype: torch.dtype = torch.float32) -> el.Model:
    """For statistics of decoders alone: shared, and none may change it."""
    return guarded(new_tiny_decoder(dtype))


def new_tiny_decoder(dtype: torch.dtype = torch.float32) -> el.Model:
    torch.manual_seed(0)
    config = t.GPT2Config(vocab_size=VOCAB, n_embd=24, n_layer=3, n_head=4, n_positions=48, bos_token_id=None, eos_token_id=None)
    hf = t.GPT2LMHeadModel._from_config(config, attn_implementation="eager").eval()
    return el.wrap(hf.to(dtype), tiny_tokenizer(), name="tiny")


def model_for(statistic: Statistic, dtype: torch.dtype = torch.float32) -> el.Model:
    return tiny_decoder(dtype) if statistic.name == "head_scores" else tiny_model(dtype)


def summed(
    statistic: Statistic, numbers: Sequence[int], *, size: int = 3, streamed: bool = True, model: el.Model | None = None
) -> Statistic:
    """A fresh statistic that has seen these texts, `size` of them at a time."""
    model = model or model_for(statistic)
    fresh = statistic.fresh()
    fresh.prepare(model, 0)
    layers = check_layers(model.layout, None)
    for start in range(0, len(numbers), size):
        chosen = list(numbers[start : start + size])
        examples = tuple(model.read(TEXTS[number]) for number in chosen)
        update_statistics(model, Batch(examples, roles_of(model.tokenizer)), [fresh], layers, streamed=streamed)
    return fresh
