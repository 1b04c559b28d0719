"""A model in half precision as one that computes in single precision: the weights of a layer are raised while it runs, no longer."""

from __future__ import annotations

import copy
from typing import Any

import torch
from torch import nn

from eyeline.models.evaluation import is_placed, rebind_placed

HALVES = (torch.float16, torch.bfloat16)

#: The attribute of a copied module that names the module it was copied from.
_ORIGINAL = "_eyeline_original"


def in_single_precision(model: nn.Module) -> nn.Module:
    """The model itself, where it is not in half precision; else a copy of its modules without weights of their own.

    A module of the copy raises what it needs when it is called: the whole of a layer, or a module outside the layers. So its numbers are
    those of `model.float()`, and memory grows by the weights of one layer. Nothing is changed in the model.
    """
    if not any(tensor.dtype in HALVES for tensor in model.parameters()):
        return model
    copies = {module: _shallow_copy(module) for module in model.modules()}
    for module, copied in copies.items():
        vars(copied)["_modules"] = {name: copies.get(part) for name, part in module._modules.items()}  # type: ignore[arg-type]
        vars(copied)[_ORIGINAL] = module
    above = _above_layers(model)
    for name, module in model.named_modules():
        _raise_in_calls(copies[module], whole=name not in above)
    return copies[model]


def original(module: nn.Module) -> nn.Module:
    """The module of the model itself, for one of a copy; any other module as it is."""
    of: nn.Module = vars(module).get(_ORIGINAL, module)
    return of


def _shallow_copy(module: nn.Module) -> nn.Module:
    """The same tensors and attributes in dictionaries of its own."""
    copied = copy.copy(module)
    for name, value in vars(module).items():
        if isinstance(value, dict):
            vars(copied)[name] = value.copy()
    if is_placed(copied):
        rebind_placed(copied)
    return copied


def _above_layers(model: nn.Module) -> set[str]:
    """The names of the modules that hold layers: the outermost lists of modules, and what they are in."""
    lists = [name for name, module in model.named_modules() if isinstance(module, nn.ModuleList)]
    outermost = [name for name in lists if not any(name.startswith(f"{other}.") for other in lists)]
    above = {""}
    for name in outermost:
        parts = name.split(".")
        above |= {".".join(parts[:n]) for n in range(1, len(parts) + 1)}
    return above


def _raise_in_calls(module: nn.Module, *, whole: bool) -> None:
    """Let a module of a copy raise its weights, or those of all its parts, and what it is given, for each call."""
    if type(module) is nn.Embedding:  # its rows alone, not the whole table
        module.register_forward_hook(lambda _module, _args, output: _raised(output))
        return
    lowered: list[tuple[dict[str, Any], dict[str, Any]]] = []

    def before(_module: nn.Module, args: tuple[Any, ...], options: dict[str, Any]) -> tuple[Any, Any]:
        for part in module.modules() if whole else [module]:
            for tensors in (part._parameters, part._buffers):
                halves = {name: tensor for name, tensor in tensors.items() if tensor is not None and tensor.dtype in HALVES}
                if halves:
                    lowered.append((tensors, halves))
                    tensors.update({name: tensor.detach().float() for name, tensor in halves.items()})  # type: ignore[misc]
        return _raised(args), _raised(options)

    def after(_module: nn.Module, _args: Any, _output: Any) -> None:
        while lowered:
            tensors, halves = lowered.pop()
            tensors.update(halves)

    module.register_forward_pre_hook(before, with_kwargs=True)
    module.register_forward_hook(after, always_call=True)


def _raised(value: Any) -> Any:
    """Tensors in half precision raised, also within tuples, lists and dicts."""
    if isinstance(value, torch.Tensor):
        return value.float() if value.dtype in HALVES else value
    if type(value) in (tuple, list):
        return type(value)(_raised(each) for each in value)
    if type(value) is dict:
        return {name: _raised(each) for name, each in value.items()}
    return value
