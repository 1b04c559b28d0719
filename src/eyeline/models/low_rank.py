"""A model with a head as a small update of an encoder: low-rank changes of its matrices, and the head on top."""

from __future__ import annotations

import json
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

from eyeline.errors import EyelineError, ModelError
from eyeline.storage.sealed_json import digest_of

UPDATES = Path(__file__).with_name("updates")
#: SHA-256 of each update, as scripts/updates/pack.py prints it: a number that was changed would give another model without a word.
CHECKSUMS = {
    "e5-small-mlm": "171511a38ddc20b0246ccc7f52b1d9f5c24a2eaac10378377fba5cdcd1d691f0",
    "e5-small-sentiment": "bc9e78cef873dc6fd7ade5c5f4f0178097fb3cb9a8cc25815a1b12e2ea0b6248",
}


def with_update(encoder: BertModel, update: str) -> BertForMaskedLM | BertForSequenceClassification:
    """The encoder with the update added, and the head that the update brings: masked language modelling, or a classifier.

        W ← W + up · down          for every linear layer
        norms and biases           replaced

    update: the name of a file in `updates/`. A matrix there is int8, one scale a row (scripts/updates/pack.py writes it).
    """
    path = UPDATES / f"{update}.safetensors"
    try:
        if digest_of(path) != CHECKSUMS[update]:
            raise ValueError("its checksum does not match")
        arrays, labels = _read(path)
        hf = _classifier(encoder, arrays, labels) if labels else _masked_lm(encoder, arrays)
        _add(arrays, hf.bert)
    except (SafetensorError, EyelineError, KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is damaged ({type(error).__name__}: {reason}).", "Install eyeline again.") from error
    hf.tie_weights()
    return hf.eval()


def _add(arrays: dict[str, torch.Tensor], encoder: BertModel) -> None:
    """Add low-rank changes to the encoder, and replace norms and biases."""
    with torch.no_grad():
        state = dict(encoder.named_parameters())
        for name, values in arrays.items():
            if name.endswith(".down"):
                layer = name.removesuffix(".down")
                state[f"{layer}.weight"] += arrays[f"{layer}.up"] @ values
            elif not name.endswith(".up") and not name.startswith("head."):
                state[name].copy_(values)


def _masked_lm(encoder: BertModel, arrays: dict[str, torch.Tensor]) -> BertForMaskedLM:
    hf = BertForMaskedLM(_config(encoder, architectures=["BertForMaskedLM"]))
    _copy_encoder(encoder, hf.bert)
    head = hf.cls.predictions
    with torch.no_grad():
        head.transform.dense.weight.copy_(arrays["head.dense.weight"])
        head.transform.dense.bias.copy_(arrays["head.dense.bias"])
        head.transform.LayerNorm.weight.copy_(arrays["head.norm.weight"])
        head.transform.LayerNorm.bias.copy_(arrays["head.norm.bias"])
        head.bias.copy_(arrays["head.bias"])
    return hf


def _classifier(encoder: BertModel, arrays: dict[str, torch.Tensor], labels: list[str]) -> BertForSequenceClassification:
    names = dict(enumerate(labels))
    config = _config(
        encoder,
        architectures=["BertForSequenceClassification"],
        id2label=names,
        label2id={label: i for i, label in names.items()},
    )
    hf = BertForSequenceClassification(config)
    _copy_encoder(encoder, hf.bert)
    with torch.no_grad():
        hf.bert.pooler.dense.weight.copy_(arrays["head.pooler.weight"])
        hf.bert.pooler.dense.bias.copy_(arrays["head.pooler.bias"])
        hf.classifier.weight.copy_(arrays["head.classifier.weight"])
        hf.classifier.bias.copy_(arrays["head.classifier.bias"])
    return hf


def _config(encoder: BertModel, **changes: object) -> BertConfig:
    config = BertConfig(**{**encoder.config.to_dict(), **changes})
    config._attn_implementation = encoder.config._attn_implementation
    return config


def _copy_encoder(encoder: BertModel, target: BertModel) -> None:
    """The encoder's weights without its pooler, which is the head's own matter."""
    weights = {name: tensor for name, tensor in encoder.state_dict().items() if not name.startswith("pooler.")}
    target.load_state_dict(weights, strict=False)


def _read(path: Path) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Every array in float32 (rows of integer matrices times their scale), and the labels of a classifier."""
    with safe_open(path, "pt") as file:
        raw = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 (a file is no dictionary)
        labels = json.loads((file.metadata() or {}).get("labels", "[]"))
    arrays = {
        name: values.float() * raw[f"{name}.scale"] if f"{name}.scale" in raw else values.float()
        for name, values in raw.items()
        if not name.endswith(".scale")
    }
    return arrays, labels
