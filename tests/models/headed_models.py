"""Tiny random models with every kind of head, saved as checkpoints."""

from __future__ import annotations

from pathlib import Path

import torch
import transformers as t
from tokenizers import AddedToken

from tests.models.families import GPT, SEQ2SEQ, TINY, VOCAB, tiny_tokenizer

LABELS = {0: "bad", 1: "fine", 2: "good"}
BERT = {**TINY, "id2label": LABELS, "label2id": {name: i for i, name in LABELS.items()}}
T5 = {"vocab_size": VOCAB, "d_model": 32, "d_kv": 8, "d_ff": 32, "num_layers": 2, "num_heads": 4, "decoder_start_token_id": 0}

#: Name of the class → its configuration.
HEADED: dict[str, t.PreTrainedConfig] = {
    "BertForMaskedLM": t.BertConfig(**TINY),
    "GPT2LMHeadModel": t.GPT2Config(**GPT),
    "LlamaForCausalLM": t.LlamaConfig(**{**TINY, "num_key_value_heads": 2, "head_dim": 8}),
    "BertForSequenceClassification": t.BertConfig(**BERT),
    "BertForTokenClassification": t.BertConfig(**BERT),
    "BertForQuestionAnswering": t.BertConfig(**TINY),
    "T5ForConditionalGeneration": t.T5Config(**T5),
    "BartForConditionalGeneration": t.BartConfig(**SEQ2SEQ, encoder_layers=2, decoder_layers=2, decoder_attention_heads=4),
}


def masking_tokenizer() -> t.PreTrainedTokenizerFast:
    tokenizer = tiny_tokenizer()
    tokenizer.add_special_tokens({"mask_token": AddedToken("[MASK]", special=True)})
    assert len(tokenizer) <= VOCAB
    return tokenizer


def headed(name: str) -> t.PreTrainedModel:
    """A model with loud random weights."""
    torch.manual_seed(0)
    hf: t.PreTrainedModel = getattr(t, name)(HEADED[name]).eval()
    with torch.no_grad():
        for parameter in hf.parameters():
            if parameter.ndim > 1:
                parameter.mul_(4)
    return hf


def save(name: str, folder: Path) -> t.PreTrainedModel:
    hf = headed(name)
    hf.save_pretrained(folder)
    masking_tokenizer().save_pretrained(folder)
    return hf
