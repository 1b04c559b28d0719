"""A masked language model as a small update of an encoder: low-rank changes of its matrices, and the head on top."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors.torch import load_file
from transformers import BertConfig, BertForMaskedLM, BertModel

UPDATES = Path(__file__).with_name("updates")


def masked_lm(encoder: BertModel, update: str) -> BertForMaskedLM:
    """The encoder with the update added, and its masked-language-modelling head.

        W ← W + up · down          for every linear layer
        norms and biases           replaced

    update: the name of a file in `updates/`. A matrix there is int8, one scale a row (scripts/masked_lm/pack.py writes it).
    """
    arrays = _read(UPDATES / f"{update}.safetensors")
    config = BertConfig(**{**encoder.config.to_dict(), "architectures": ["BertForMaskedLM"]})
    config._attn_implementation = encoder.config._attn_implementation
    hf = BertForMaskedLM(config)
    hf.bert.load_state_dict({name: tensor for name, tensor in encoder.state_dict().items() if not name.startswith("pooler.")})
    head = hf.cls.predictions
    with torch.no_grad():
        state = dict(hf.bert.named_parameters())
        for name, values in arrays.items():
            if name.endswith(".down"):
                layer = name.removesuffix(".down")
                state[f"{layer}.weight"] += arrays[f"{layer}.up"] @ values
            elif not name.endswith(".up") and not name.startswith("head."):
                state[name].copy_(values)
        head.transform.dense.weight.copy_(arrays["head.dense.weight"])
        head.transform.dense.bias.copy_(arrays["head.dense.bias"])
        head.transform.LayerNorm.weight.copy_(arrays["head.norm.weight"])
        head.transform.LayerNorm.bias.copy_(arrays["head.norm.bias"])
        head.bias.copy_(arrays["head.bias"])
    hf.tie_weights()
    return hf.eval()


def _read(path: Path) -> dict[str, torch.Tensor]:
    """Every array in float32; rows of integer matrices times their scale."""
    raw = load_file(path)
    return {
        name: values.float() * raw[f"{name}.scale"] if f"{name}.scale" in raw else values.float()
        for name, values in raw.items()
        if not name.endswith(".scale")
    }
