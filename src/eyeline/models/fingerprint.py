"""A name for a model's exact weights and tokeniser, so that a cached trace is never that of another model."""

from __future__ import annotations

import hashlib
import json
import threading
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

SAMPLE = 8  # numbers of each tensor


class Fingerprint:
    """SHA-256 of every parameter and buffer, the configuration and the tokeniser; computed when first asked for.

    It follows the weights: after an optimiser step or a change in place it is computed anew. Changes that PyTorch does not count
    (through `parameter.data`) are noticed by a sample of every tensor.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._known: tuple[tuple[Any, ...], str] | None = None

    def __str__(self) -> str:
        state = tuple(_glance(tensor) for tensor in self._tensors().values())
        with self._lock:
            if self._known is None or self._known[0] != state:
                self._known = (state, self._compute())
            return self._known[1]

    def _tensors(self) -> dict[str, torch.Tensor]:
        return dict(self._model.named_parameters()) | dict(self._model.named_buffers())

    def _compute(self) -> str:
        digest = hashlib.sha256()
        config = {k: v for k, v in self._model.config.to_dict().items() if not k.startswith("_")}
        digest.update(json.dumps([type(self._model).__name__, config], sort_keys=True, default=str).encode())
        for name, tensor in self._tensors().items():
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        digest.update(_tokenizer_text(self._tokenizer).encode())
        return digest.hexdigest()


def _glance(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Where a tensor lies, how often it was changed, and a few of its numbers."""
    version = -1 if tensor.is_inference() else tensor._version
    flat = tensor.detach().reshape(-1)
    sample = flat[:: max(1, len(flat) // SAMPLE)][:SAMPLE]
    return tensor.data_ptr(), version, tuple(sample.tolist())


def _tokenizer_text(tokenizer: PreTrainedTokenizerBase | None) -> str:
    if tokenizer is None:
        return ""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab(), sort_keys=True)
    return f"{type(tokenizer).__name__} {rules} {tokenizer.special_tokens_map}"
