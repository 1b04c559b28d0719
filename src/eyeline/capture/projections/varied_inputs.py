"""Several short inputs that differ from the first token on, so that columns of numbers can be distinguished."""

from __future__ import annotations

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.opening.tiny_inputs import plain_ids, tiny_inputs

TEXTS, LENGTH, TARGET_LENGTH = 24, 4, 3


def varied_inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, torch.Tensor]:
    """A batch of the kind that this model reads: ids of every text begin with another token, images and sound are noise."""
    generator = torch.Generator().manual_seed(0)
    ids = plain_ids(model, TEXTS + LENGTH)
    inputs = {}
    for name, tensor in tiny_inputs(model, tokenizer).items():
        if tensor.is_floating_point():
            noise = torch.randn(TEXTS, *tensor.shape[1:], generator=generator)
            inputs[name] = noise.to(tensor.device, tensor.dtype)
        elif name.endswith("input_ids"):
            length = min(TARGET_LENGTH if name.startswith("decoder") else LENGTH, len(ids))
            rows = [[ids[(text + position) % len(ids)] for position in range(length)] for text in range(TEXTS)]
            inputs[name] = torch.tensor(rows, device=tensor.device)
    if "input_ids" in inputs:
        inputs["attention_mask"] = torch.ones_like(inputs["input_ids"])
    return inputs
