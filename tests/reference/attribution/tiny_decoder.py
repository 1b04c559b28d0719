"""Tiny decoders whose weights come from NumPy's generator, so that they are the same with every version of torch."""

from __future__ import annotations

import numpy as np
import torch
import transformers as t

IDS = [7, 3, 12, 9, 3, 12, 5]
SEED = 5


def tiny_decoder() -> t.GPT2LMHeadModel:
    """Two layers, three heads, 24 numbers a vector, 20 tokens."""
    config = t.GPT2Config(vocab_size=20, n_embd=24, n_layer=2, n_head=3, n_positions=16, bos_token_id=0, eos_token_id=0, pad_token_id=0)
    model = t.GPT2LMHeadModel(config).eval()
    fill(model)
    return model


def tiny_grouped() -> t.LlamaForCausalLM:
    """A Llama of the same size in which two heads share each key and value: two layers, four heads, 20 tokens."""
    config = t.LlamaConfig(
        vocab_size=20, hidden_size=24, intermediate_size=32, num_hidden_layers=2, num_attention_heads=4, num_key_value_heads=2, head_dim=6,
        max_position_embeddings=16, tie_word_embeddings=True, bos_token_id=0, eos_token_id=0, pad_token_id=0,
    )  # fmt: skip
    model = t.LlamaForCausalLM(config).eval()
    fill(model)
    return model


def fill(model: t.PreTrainedModel) -> None:
    """Random weights of some size, in the order of the model's parameters; norms near 1."""
    random = np.random.default_rng(SEED)
    with torch.no_grad():
        for name, parameter in model.named_parameters():
            numbers = torch.from_numpy(random.normal(scale=0.4, size=tuple(parameter.shape)).astype(np.float32))
            parameter.copy_(numbers + 1 if _is_norm(name) else numbers)
    model.tie_weights()


def _is_norm(name: str) -> bool:
    return name.endswith("weight") and ("ln_" in name or "norm" in name)
