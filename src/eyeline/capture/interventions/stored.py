"""A forward pass whose layers' results are stored, so that a later pass can begin at any layer of it.

The model is not touched. A *twin* of it shares all weights and buffers: a shallow copy of the modules down to the lists of layers, whose
items are replaced by stand-ins. A stand-in runs its layer and stores the result, or returns what was stored. Everything outside the
lists (embeddings, masks, the final norm, the head) is the model's own code, run again.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from eyeline.capture.interventions.change import Changes
from eyeline.capture.recorder import skip_calls


@dataclass(frozen=True)
class StoredLayer:
    """What one layer returned; how many attention calls it made, and how many the pass had made when it ended."""

    result: Any
    calls: int
    end: int


@dataclass(frozen=True)
class StoredPass:
    """The results of every layer of one pass, in the order in which they ran; tensors begin with the batch."""

    layers: tuple[StoredLayer, ...]
    n_texts: int

    def layers_before(self, call: int) -> int:
        """How many layers had ended before attention call number `call` was made."""
        return next((index for index, layer in enumerate(self.layers) if layer.end > call), len(self.layers))


class _StandIn(nn.Module):
    """Stands for one layer in a twin: `run` decides whether the layer itself is called. Other attributes are the layer's."""

    def __init__(self, layer: nn.Module, run: Callable[..., Any]) -> None:
        super().__init__()
        self.__dict__["_layer"], self.__dict__["_run"] = layer, run
        self.training = layer.training

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.__dict__["_run"](self.__dict__["_layer"], *args, **kwargs)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["_layer"], name)


def _twin(module: nn.Module, run: Callable[..., Any]) -> nn.Module:
    """A copy of the modules down to the outermost lists of layers, sharing everything else."""
    if not any(isinstance(part, nn.ModuleList) for part in module.modules()):
        return module
    twin = copy.copy(module)
    children: dict[str, nn.Module | None] = {}
    for name, child in module._modules.items():
        if child is None:
            children[name] = None
        else:
            children[name] = _StandIn(child, run) if isinstance(module, nn.ModuleList) else _twin(child, run)
    twin.__dict__["_modules"] = children
    return twin


def run_and_store(hf: nn.Module, inputs: Mapping[str, Any], count: Changes) -> tuple[Any, StoredPass]:
    """The model's output, and the results of its layers."""
    stored: list[StoredLayer] = []

    def run(layer: nn.Module, *args: Any, **kwargs: Any) -> Any:
        before = count.calls_made
        result = layer(*args, **kwargs)
        stored.append(StoredLayer(result, count.calls_made - before, count.calls_made))
        return result

    output = _twin(hf, run)(**inputs)
    n_texts = len(next(value for value in inputs.values() if isinstance(value, torch.Tensor)))
    return output, StoredPass(tuple(stored), n_texts)


def run_from(hf: nn.Module, inputs: Mapping[str, Any], stored: StoredPass, first_call: int) -> Any:
    """The model's output, where no layer before attention call number `first_call` is computed: its stored result is used.

    A stored pass of one text serves a batch of any number of copies of that text.
    """
    n_texts = len(next(value for value in inputs.values() if isinstance(value, torch.Tensor)))
    skipped, ran = stored.layers_before(first_call), 0

    def run(layer: nn.Module, *args: Any, **kwargs: Any) -> Any:
        nonlocal ran
        ran += 1
        if ran > skipped:
            return layer(*args, **kwargs)
        known = stored.layers[ran - 1]
        skip_calls(known.calls)
        return known.result if n_texts == stored.n_texts else _repeated(known.result, n_texts)

    return _twin(hf, run)(**inputs)


def run_head(hf: nn.Module, body: nn.Module, result: Any, inputs: Mapping[str, Any], at: torch.Tensor | None = None) -> Any:
    """The model's output, where the result of its body is known: only the head is computed.

    at   compute it at these positions alone: [text, position]. The output has them in this order.
    """
    known = copy.copy(result)
    if at is not None:
        name = "logits" if body is hf else next(iter(known))
        rows = known[name]  # [text, token, dim]
        known[name] = rows.gather(1, at.to(rows.device)[..., None].expand(-1, -1, rows.shape[2]))
    if body is hf:
        return known
    twin = copy.copy(hf)
    children = {name: _StandIn(child, lambda *_, **__: known) if child is body else child for name, child in hf._modules.items()}
    twin.__dict__["_modules"] = children
    return twin(**inputs)


def _repeated(result: Any, n_texts: int) -> Any:
    """The same result for copies of one text."""
    if isinstance(result, torch.Tensor):
        return result.expand(n_texts, *result.shape[1:]) if result.ndim and result.shape[0] == 1 else result
    if isinstance(result, tuple | list):
        return type(result)(_repeated(part, n_texts) for part in result)
    if isinstance(result, dict):
        return type(result)({name: _repeated(part, n_texts) for name, part in result.items()})
    return result
