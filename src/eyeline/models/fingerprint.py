"""A name for a model exactly as it computes now, so that a cached trace or a resumed run is never that of another model."""

from __future__ import annotations

import hashlib
import json
import threading
import uuid
from collections.abc import Iterator
from typing import Any

import torch
from torch import nn
from transformers import PreTrainedModel, PreTrainedTokenizerBase

SAMPLE = 8  # numbers of each tensor
#: Attributes of modules that PyTorch and transformers keep for themselves: they do not change what a pass computes. Among them
#: is the path: another machine, or another working folder, has the same model elsewhere.
BOOKKEEPING = frozenset(vars(nn.Module())) | {"_is_hf_initialized", "_is_hooked", "_compiled_call_impl", "name_or_path"}
#: Modules whose hooks only observe: transformers' own, to report attention, and those of a pass that another thread follows.
OWN_HOOKS = ("transformers.utils.output_capturing", "eyeline.capture.projections.watch")
PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype)


class Fingerprint:
    """SHA-256 of everything that changes a model's output; computed when it is first needed, and again when the model has changed.

    It covers every parameter, buffer and extra state (dynamic quantisation), the classes of all modules and their plain attributes (which
    adapters are active or merged, `scaling`), the configuration and the tokeniser. What a forward hook does cannot be read: while a model
    has hooks (`has_hooks`), its fingerprint is valid within this process alone.

    Changes that PyTorch does not count (through `parameter.data`) are noticed by a sample of every tensor.
    """

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> None:
        self._model = model
        self._tokenizer = tokenizer
        self._lock = threading.Lock()
        self._of_this_process = uuid.uuid4().hex
        self._known: tuple[tuple[Any, ...], str] | None = None

    @property
    def has_hooks(self) -> bool:
        """Whether code of the user takes part in a pass: forward hooks, or a `forward` that was replaced."""
        return any(True for _ in _foreign_code(self._model))

    def __str__(self) -> str:
        described = _described(self._model) + list(_foreign_code(self._model))
        state = (*(_sample(tensor) for tensor in _tensors(self._model).values()), *described)
        with self._lock:
            if self._known is None or self._known[0] != state:
                self._known = (state, self._compute(described))
            return self._known[1]

    def _compute(self, described: list[str]) -> str:
        digest = hashlib.sha256()
        config = {k: v for k, v in self._model.config.to_dict().items() if not k.startswith("_")}
        digest.update(json.dumps([type(self._model).__name__, config], sort_keys=True, default=str).encode())
        for name, tensor in _tensors(self._model).items():
            digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
            plain = tensor.dequantize() if tensor.is_quantized else tensor
            digest.update(plain.detach().cpu().contiguous().flatten().view(torch.uint8).numpy().data)
        digest.update("\n".join(described).encode())
        if self.has_hooks:
            digest.update(self._of_this_process.encode())
        digest.update(_tokenizer_text(self._tokenizer).encode())
        return digest.hexdigest()


class WeightsName:
    """A short name for the weights that compute attention, from a few numbers of each: cheap, so that every trace can carry it.

    Two models of the same shape have different names; a copy, or the same weights behind another head, has the same name.
    """

    def __init__(self, body: nn.Module) -> None:
        self._body = body
        self._known: tuple[tuple[Any, ...], str] | None = None

    def __str__(self) -> str:
        parameters = list(self._body.parameters())
        state = tuple((tensor.data_ptr(), -1 if tensor.is_inference() else tensor._version) for tensor in parameters)
        if self._known is None or self._known[0] != state:
            numbers = [(tuple(tensor.shape), _sample(tensor)[2]) for tensor in parameters]
            self._known = (state, hashlib.sha256(repr(numbers).encode()).hexdigest()[:16])
        return self._known[1]


def _tensors(model: nn.Module) -> dict[str, torch.Tensor]:
    """Every tensor by name: parameters, buffers (those that are not saved too), and tensors within extra state."""
    tensors: dict[str, torch.Tensor] = dict(model.named_parameters()) | dict(model.named_buffers())
    for name, value in model.state_dict(keep_vars=True).items():
        if name not in tensors:
            tensors |= dict(_tensors_within(name, value))
    return tensors


def _tensors_within(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, tuple | list):
        for index, item in enumerate(value):
            yield from _tensors_within(f"{name}.{index}", item)
    elif isinstance(value, dict):
        for key, item in value.items():
            yield from _tensors_within(f"{name}.{key}", item)


def _described(model: nn.Module) -> list[str]:
    """A line for each module: its class and its plain attributes; and one for each extra state that is not a tensor."""
    lines = []
    for name, module in model.named_modules():
        plain = {key: value for key, value in vars(module).items() if key not in BOOKKEEPING and _is_plain(value)}
        lines.append(f"{name} {type(module).__module__}.{type(module).__qualname__} {_stable(plain)}")
    return lines + [f"{name} {_stable(value)}" for name, value in model.state_dict(keep_vars=True).items() if _is_plain(value)]


def _stable(value: Any) -> str:
    """A plain value as text that is the same in every process: the order of a set depends on the process.

    >>> _stable({"b": {"y", "x"}, "a": [1, None]})
    "{'a': [1, None], 'b': {'x', 'y'}}"
    """
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_stable(key)}: {_stable(item)}" for key, item in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(_stable(item) for item in value)) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(_stable(item) for item in value) + "]"
    return repr(value)


def _is_plain(value: Any) -> bool:
    """Whether a value is a number, a string or another plain value, or a container of them."""
    if isinstance(value, dict):
        return all(_is_plain(key) and _is_plain(item) for key, item in value.items())
    if isinstance(value, tuple | list | set | frozenset):
        return all(_is_plain(item) for item in value)
    return isinstance(value, PLAIN)


def _foreign_code(model: nn.Module) -> Iterator[str]:
    """The modules with hooks that are not transformers' own, or with a forward of their own."""
    for name, module in model.named_modules():
        hooks = [*module._forward_hooks.values(), *module._forward_pre_hooks.values()]
        if "forward" in vars(module) or any(getattr(hook, "__module__", "") not in OWN_HOOKS for hook in hooks):
            yield f"hook on {name}"


def _sample(tensor: torch.Tensor) -> tuple[Any, ...]:
    """Where a tensor lies, how often it was changed, and a few of its numbers."""
    version = -1 if tensor.is_inference() else tensor._version
    plain = tensor.dequantize() if tensor.is_quantized else tensor
    flat = plain.detach().reshape(-1)
    sample = flat[:: max(1, len(flat) // SAMPLE)][:SAMPLE]
    return tensor.data_ptr(), version, tuple(sample.tolist())


def _tokenizer_text(tokenizer: PreTrainedTokenizerBase | None) -> str:
    if tokenizer is None:
        return ""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = backend.to_str() if backend is not None else json.dumps(tokenizer.get_vocab(), sort_keys=True)
    return f"{type(tokenizer).__name__} {rules} {tokenizer.special_tokens_map}"
