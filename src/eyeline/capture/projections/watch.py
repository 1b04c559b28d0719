"""Follow a forward pass through the modules that turn one tensor into another: what enters each, and what leaves it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn

from eyeline.capture.projections.record import LayerKey


@dataclass(frozen=True)
class ModuleCall:
    """One module's work on one tensor."""

    name: str
    module: nn.Module
    input: torch.Tensor
    output: torch.Tensor


@contextmanager
def watching_modules(model: nn.Module, receive: Callable[[ModuleCall], None]) -> Iterator[None]:
    """Within this block, and this thread alone, `receive` sees each module with parameters that makes one tensor of one tensor.

    The hooks change nothing, and are gone afterwards.
    """
    thread = threading.get_ident()

    def hook_for(name: str) -> Callable[..., None]:
        def hook(module: nn.Module, inputs: tuple[Any, ...], output: Any) -> None:
            if threading.get_ident() == thread and len(inputs) == 1 and _is_vectors(inputs[0]) and _is_vectors(output):
                receive(ModuleCall(name, module, inputs[0], output))

        return hook

    handles = [
        module.register_forward_hook(hook_for(name))
        for name, module in model.named_modules()
        if next(module.parameters(), None) is not None or next(module.buffers(), None) is not None
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def watching_inputs(model: nn.Module, modules: Mapping[LayerKey, str]) -> Iterator[Callable[[LayerKey], torch.Tensor]]:
    """Within this block, and this thread alone: what entered the module of a layer last. Ask during the attention of that layer.

    modules   the name of a module for each layer; layers that share their weights share their module
    """
    thread = threading.get_ident()
    latest: dict[str, torch.Tensor] = {}

    def hook_for(name: str) -> Callable[..., None]:
        def hook(_module: nn.Module, inputs: tuple[Any, ...]) -> None:
            if threading.get_ident() == thread:
                latest[name] = inputs[0]

        return hook

    handles = [model.get_submodule(name).register_forward_pre_hook(hook_for(name)) for name in sorted(set(modules.values()))]
    try:
        yield lambda layer: latest[modules[layer]]
    finally:
        for handle in handles:
            handle.remove()


def _is_vectors(value: Any) -> bool:
    return isinstance(value, torch.Tensor) and value.is_floating_point() and value.ndim >= 2
