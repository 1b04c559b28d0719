"""A model with a head as a small update of an encoder: low-rank changes of its matrices, and the head on top."""

from __future__ import annotations

import json
import lzma
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load
from transformers import BertConfig, BertForMaskedLM, BertForSequenceClassification, BertModel

from eyeline.errors import EyelineError, ModelError
from eyeline.storage.sealed_json import digest_of

UPDATES = Path(__file__).with_name("updates")
ENDING = ".safetensors.xz"
#: SHA-256 of each update, as scripts/updates/pack.py prints it: a changed number would silently give another model.
CHECKSUMS = {
    "e5-small-mlm": "4c54a61588d83652e3636f5aebe3f8ace0b202ff4edc7fb40705ac581862ff40",
    "e5-small-sentiment": "3650e7b323ae281f411c129bca0a949277e868536fd171c2d65b224447b39d59",
}


def with_update(encoder: BertModel, update: str) -> BertForMaskedLM | BertForSequenceClassification:
    """The encoder with the update added, and the head that the update brings: masked language modelling, or a classifier.

        W ← W + up · down          for every linear layer
        b ← b + change             for norms and biases

    update: the name of a file in `updates/`. A matrix there is int8, with one scale per row (scripts/updates/pack.py writes it).
    """
    path = UPDATES / f"{update}{ENDING}"
    try:
        if digest_of(path) != CHECKSUMS[update]:
            raise ValueError("its checksum does not match")
        arrays, labels = _read(path)
        hf = _classifier(encoder, arrays, labels) if labels else _masked_lm(encoder, arrays)
        _add(arrays, hf.bert)
    except (SafetensorError, lzma.LZMAError, EyelineError, KeyError, ValueError, TypeError, RuntimeError) as error:
        reason = " ".join(str(error).split())[:200]
        raise ModelError(f"{path} is damaged ({type(error).__name__}: {reason}).", "Install eyeline again.") from error
    hf.tie_weights()
    return hf.eval()


def _add(arrays: dict[str, torch.Tensor], encoder: BertModel) -> None:
    """Add the changes to the encoder: of matrices, norms and biases."""
    with torch.no_grad():
        state = dict(encoder.named_parameters())
        for name, values in arrays.items():
            if name.endswith(".down"):
                layer = name.removesuffix(".down")
                state[f"{layer}.weight"] += arrays[f"{layer}.up"] @ values
            elif name.endswith(".change"):
                state[name.removesuffix(".change")] += values


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
    """Copy the encoder's weights without its pooler, which belongs to the head."""
    weights = {name: tensor for name, tensor in encoder.state_dict().items() if not name.startswith("pooler.")}
    target.load_state_dict(weights, strict=False)


def _read(path: Path) -> tuple[dict[str, torch.Tensor], list[str]]:
    """Every array in float32 (rows of integer matrices times their scale), and the labels of a classifier."""
    packed = lzma.decompress(path.read_bytes())
    raw = load(packed)
    header = json.loads(packed[8 : 8 + int.from_bytes(packed[:8], "little")])
    labels = json.loads(header.get("__metadata__", {}).get("labels", "[]"))
    arrays = {
        name: values.float() * raw[f"{name}.scale"].float() if f"{name}.scale" in raw else values.float()
        for name, values in raw.items()
        if not name.endswith(".scale")
    }
    return arrays, labels
