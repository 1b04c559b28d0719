"""One identity of a model: a checksum over every byte of its weights, and over what else decides its numbers."""

from __future__ import annotations

import functools
import hashlib
import inspect
import json
import types
import uuid
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn
from torch.utils._python_dispatch import is_traceable_wrapper_subclass
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.models.context import context
from eyeline.models.evaluation import is_placed

# ---- Weights


#: Words of 64 bits in a block.
BLOCK = 1 << 13

#: Bytes that are summed at once: on a processor they stay in its cache, on a GPU few kernels start.
AT_ONCE = {"cpu": 1 << 21, "cuda": 1 << 28}


def weights_identity(module: nn.Module) -> str:
    """SHA-256 of the names, types and shapes of all tensors of a module, and of a sum for each block of their bytes.

        Σ_i c_i · (w_i + ⌊w_i / 2³¹⌋)        modulo 2⁶⁴

    w_i: the block's words of 64 bits; c_i: fixed pseudo-random odd numbers. A product keeps a change of a word's highest bits there,
    where two such changes (two signs) cancel, so the upper half of each word is added once more, lower. These are integers, added where
    the tensors lie: a processor and a GPU agree in every bit. Every byte is read each time: nothing is remembered, and no way to change a
    weight goes unseen. Two contents have one sum by a chance of 1 in 2⁶⁴, in patterns such as changed signs 1 in 2³⁰.
    """
    work: dict[torch.device, torch.Tensor] = {}
    with torch.inference_mode():
        sums = [(name, tensor, _sums(tensor, work)) for name, tensor in _tensors(module).items()]
    digest = hashlib.sha256()
    for name, tensor, parts in sums:
        digest.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}\n".encode())
        for part in parts:
            digest.update(part.cpu().numpy().tobytes())
    return digest.hexdigest()


def _sums(tensor: torch.Tensor, work: dict[torch.device, torch.Tensor]) -> list[torch.Tensor]:
    """The sum of every block of a tensor, in order, however many are taken at once. work: memory to work in, for each device."""
    plain = tensor.dequantize() if tensor.is_quantized else tensor.to_dense() if tensor.layout != torch.strided else tensor
    raw = plain.detach().contiguous().reshape(-1).view(torch.uint8)
    if raw.device.type not in AT_ONCE:
        raw = raw.cpu()
    at_once, whole = AT_ONCE[raw.device.type], len(raw) // (8 * BLOCK) * (8 * BLOCK)
    if raw.device not in work:
        work[raw.device] = torch.empty(at_once // 8, dtype=torch.int64, device=raw.device)
    sums = []
    for part in (*torch.split(raw[:whole], at_once), raw[whole:]):
        if not len(part):
            continue
        if len(part) % 8 or part.storage_offset() % 8:  # words begin at multiples of 8, and the last is filled with zeros
            filled = part.new_zeros(-(-len(part) // 8) * 8)
            filled[: len(part)] = part
            part = filled
        words = part.view(torch.int64)
        mixed = torch.bitwise_right_shift(words, 31, out=work[raw.device][: len(words)]).add_(words)
        mixed = mixed.view(-1, min(BLOCK, len(words)))  # [block, word]
        constants = _constants(raw.device)[: mixed.shape[1]]
        # GPUs have no product of integer matrices
        sums.append(torch.mv(mixed, constants) if raw.device.type == "cpu" else mixed.mul_(constants).sum(1))
    return sums


@functools.cache
def _constants(device: torch.device) -> torch.Tensor:
    """The odd numbers of a block, from SplitMix64 (Steele, Lea and Flood, 2014)."""
    z = np.arange(1, BLOCK + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        z = (z ^ (z >> np.uint64(shift))) * np.uint64(factor)
    odd = (z ^ (z >> np.uint64(31))) | np.uint64(1)
    return torch.from_numpy(odd.view(np.int64)).to(device)


def _tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    """Every tensor by name: parameters, buffers (those that are not saved too), and tensors within extra state and plain attributes."""
    tensors: dict[str, torch.Tensor] = dict(module.named_parameters()) | dict(module.named_buffers())
    for name, part in module.named_modules():
        for key, value in vars(part).items():
            if key not in BOOKKEEPING:
                tensors |= {f"{name}.{inner}": tensor for inner, tensor in _tensors_within(key, value)}
    for name, value in module.state_dict(keep_vars=True).items():
        if name not in tensors:
            tensors |= dict(_tensors_within(name, value))
    return {inner: part for name, tensor in tensors.items() for inner, part in _stored(name, tensor)}


def _stored(name: str, tensor: torch.Tensor) -> Iterator[tuple[str, torch.Tensor]]:
    """The tensors that a tensor is made of: of a quantised one (torchao) its packed numbers and its scales."""
    if is_traceable_wrapper_subclass(tensor):
        parts, _ = tensor.__tensor_flatten__()
        for part in parts:
            yield from _stored(f"{name}.{part}", getattr(tensor, part))
    else:
        yield name, tensor


def _tensors_within(name: str, value: Any) -> Iterator[tuple[str, torch.Tensor]]:
    if isinstance(value, torch.Tensor):
        yield name, value
    elif isinstance(value, tuple | list | dict):
        for key, item in value.items() if isinstance(value, dict) else enumerate(value):
            yield from _tensors_within(f"{name}.{key}", item)


# ---- What else decides the numbers of a model


#: Attributes of modules that PyTorch and transformers keep for themselves: they do not change what a pass computes. Among them
#: is the path: another machine, or another working folder, has the same model elsewhere.
BOOKKEEPING = frozenset(vars(nn.Module())) | {
    "_is_hf_initialized", "_is_hooked", "_compiled_call_impl", "_output_capturing_hooks_installed", "name_or_path",
}  # fmt: skip

#: What accelerate adds where a model lies on several devices.
PLACEMENT = {"forward", "_old_forward", "_hf_hook", "hf_device_map", "to", "cuda", "npu", "xpu", "mlu", "sdaa", "musa"}

#: What can be written as text that is the same in every process.
PLAIN = (bool, int, float, complex, str, bytes, type(None), torch.dtype)

DESCRIBED = (*PLAIN, dict, list, tuple, set, frozenset, np.ndarray, types.FunctionType, types.SimpleNamespace, functools.partial)


def model_identity(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> str:
    """SHA-256 of everything that decides what a model computes from a text: its weights, the classes of its modules and their plain
    attributes (which adapters are active, `scaling`), its configuration, its tokeniser, and the context of a pass (`context`)."""
    around = context(model)
    if {"hooks", "replaced"} & around.keys():  # what they do cannot be read: such a model is not known again
        around["unknown"] = uuid.uuid4().hex
    config = json.dumps(
        {key: value for key, value in model.config.to_dict().items() if not key.startswith("_")}, sort_keys=True, default=str
    )
    parts = [weights_identity(model), config, *_structure(model), _tokenizer_text(tokenizer), _text(around)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def _structure(model: nn.Module) -> Iterator[str]:
    """A line for each module: its class and its plain attributes; and one for each extra state that is not a tensor."""
    for name, module in model.named_modules():
        left_out = BOOKKEEPING | PLACEMENT if is_placed(module) or "hf_device_map" in vars(module) else BOOKKEEPING
        plain = {key: value for key, value in vars(module).items() if key not in left_out and isinstance(value, DESCRIBED)}
        yield f"{name} {type(module).__module__}.{type(module).__qualname__} {_text(plain)}"
    for name, value in model.state_dict(keep_vars=True).items():
        if isinstance(value, DESCRIBED):
            yield f"{name} {_text(value)}"


def _text(value: Any) -> str:
    """A value as text that is the same in every process (the order of a set is not); of an object its class alone.

    >>> _text({"b": {"y", "x"}, "a": [1, None]})
    "{'a': [1, None], 'b': {'x', 'y'}}"
    """
    if isinstance(value, dict):
        return "{" + ", ".join(sorted(f"{_text(key)}: {_text(item)}" for key, item in value.items())) + "}"
    if isinstance(value, set | frozenset):
        return "{" + ", ".join(sorted(map(_text, value))) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_text, value)) + "]"
    if isinstance(value, types.FunctionType):
        held = inspect.getclosurevars(value).nonlocals
        return _text([value.__module__, value.__qualname__, value.__code__, value.__defaults__, held])
    if isinstance(value, functools.partial):
        return _text([value.func, value.args, value.keywords])
    if isinstance(value, types.SimpleNamespace):
        return _text(vars(value))
    if isinstance(value, torch.Tensor):
        return f"{value.dtype} {tuple(value.shape)} {b''.join(part.cpu().numpy().tobytes() for part in _sums(value, {})).hex()}"
    if isinstance(value, np.ndarray):
        content = _text(value.tolist()) if value.dtype.hasobject else hashlib.sha256(value.tobytes()).hexdigest()
        return f"{value.dtype} {value.shape} {content}"
    if isinstance(value, types.CodeType):
        return _text([value.co_code, value.co_names, value.co_consts])
    return repr(value) if isinstance(value, PLAIN) else type(value).__qualname__


def _tokenizer_text(tokenizer: PreTrainedTokenizerBase | None) -> str:
    """A tokeniser with its normaliser, its vocabulary and its rules; without the truncation and padding of its last call."""
    if tokenizer is None:
        return ""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    rules = json.dumps(tokenizer.get_vocab(), sort_keys=True, default=str) if backend is None else _sorted_rules(backend.to_str())
    own = [tokenizer.special_tokens_map, tokenizer.model_max_length, tokenizer.model_input_names]
    return f"{type(tokenizer).__name__} [{rules}, {json.dumps(own, sort_keys=True, default=str)}]"


@functools.lru_cache(maxsize=4)
def _sorted_rules(text: str) -> str:
    """The rules of a tokeniser in a fixed order, kept by the whole text: to sort a vocabulary takes longer than to write it."""
    return json.dumps(json.loads(text) | {"truncation": None, "padding": None}, sort_keys=True)
