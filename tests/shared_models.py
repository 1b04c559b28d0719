"""The models that many tests share: each is registered here when it is opened, and must be unchanged when the tests end."""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import torch

import eyeline as el


@dataclass(frozen=True)
class Fingerprint:
    """Everything of a model that a test could change by accident, one digest for each part."""

    weights: str
    training: bool
    hooks: int
    attention: str
    tokenizer: str


_shared: list[tuple[el.Model, Fingerprint]] = []


def guarded(model: el.Model) -> el.Model:
    """Remember how this model is now; `changed_models` compares it later."""
    _shared.append((model, fingerprint(model)))
    return model


def changed_models(largest: int | None = None) -> list[str]:
    """One line for each shared model that is not what it was when it was opened; of those up to `largest` parameters, if said."""
    lines = []
    for model, before in _shared:
        if largest is not None and model._hf.num_parameters() > largest:
            continue
        after = fingerprint(model)
        parts = [name for name in Fingerprint.__dataclass_fields__ if getattr(before, name) != getattr(after, name)]
        if parts:
            lines.append(f"{model.name}: {', '.join(parts)}")
    return lines


def fingerprint(model: el.Model) -> Fingerprint:
    modules = list(model._hf.modules())
    return Fingerprint(
        weights=_digest(model._hf),
        training=any(module.training for module in modules),
        hooks=sum(len(module._forward_hooks) + len(module._forward_pre_hooks) for module in modules),
        attention=str(model._hf.config._attn_implementation),
        tokenizer=_tokenizer_digest(model._tokenizer),
    )


def _digest(hf: torch.nn.Module) -> str:
    digest = blake2b(digest_size=16)
    for name, tensor in hf.state_dict().items():
        digest.update(name.encode())
        digest.update(tensor.detach().contiguous().view(torch.uint8).numpy() if tensor.ndim else str(tensor.item()).encode())
    return digest.hexdigest()


def _tokenizer_digest(tokenizer: Any) -> str:
    if tokenizer is None:
        return ""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    text = backend.to_str() if backend is not None else repr(sorted(tokenizer.get_vocab().items()))
    return blake2b(f"{text}{tokenizer.model_max_length}{tokenizer.all_special_tokens}".encode(), digest_size=16).hexdigest()
