"""What changes the numbers of a pass beside the model: autocast, torch's switches, hooks, and functions that were replaced."""

from __future__ import annotations

import ast
import functools
import operator
import sys
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from eyeline.messages import Message

#: Modules whose hooks only observe: transformers' own, to report attention, and those of a pass that another thread follows.
OWN_HOOKS = ("transformers.utils.output_capturing", "eyeline.models.projections", "eyeline.models.watch")

#: Packages whose functions may stand in a model's code, beside those of the package that the code is in and those that its file imports.
LIBRARIES = frozenset(
    {"eyeline", "huggingface_hub", "numpy", "safetensors", "tokenizers", "torch", "transformers", "typing_extensions"}
) | sys.stdlib_module_names - {"__main__"}

#: Parts of transformers that the code of its models calls.
SHARED_CODE = ("transformers.activations", "transformers.masking_utils", "transformers.modeling_utils")

#: The settings of torch for products of matrices, the general one last; "ieee" and "none" change nothing.
PRECISIONS = ("cuda.matmul", "mkldnn.matmul", "")


def context(model: nn.Module | None) -> dict[str, str]:
    """Everything around a pass that is not as torch and the model's own code have it: name → value; empty where there is nothing.

    model   None: it is not open yet, and every model that transformers has imported is looked at
    """
    devices = {"cpu", "cuda", *(parameter.device.type for parameter in (model.parameters() if model is not None else ()))}
    autocast = [device for device in sorted(devices) if torch.amp.is_autocast_available(device) and torch.is_autocast_enabled(device)]
    around = {
        "autocast": ", ".join(f"{device} {_name(torch.get_autocast_dtype(device))}" for device in autocast),
        "default_dtype": "" if torch.get_default_dtype() == torch.float32 else _name(torch.get_default_dtype()),
        "deterministic": "on" if torch.are_deterministic_algorithms_enabled() else "",
        "matmul_precision": ", ".join(_precisions()),
        "modes": ", ".join(
            type(mode).__name__
            for mode in (*torch.overrides._get_current_function_mode_stack(), *_get_current_dispatch_mode_stack())  # type: ignore[no-untyped-call]
        ),
        "hooks": ", ".join(_hooks(model)),
        "replaced": ", ".join(_replaced(model)),
    }
    return {name: value for name, value in around.items() if value}


def context_notices(around: dict[str, str]) -> list[Message]:
    """What was around a pass, a sentence each."""
    return [Message(f"notice.context.{name}", value=value) for name, value in around.items()]


def has_foreign_code(model: nn.Module) -> bool:
    """Whether code of the user takes part in a pass of this model: hooks, or functions that were replaced."""
    return bool({"hooks", "replaced"} & context(model).keys())


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _precisions() -> Iterator[str]:
    """In what precision products of float32 matrices are computed, where it is not that of float32."""
    for name in PRECISIONS:
        settings = operator.attrgetter(name)(torch.backends) if name else torch.backends
        precision = getattr(settings, "fp32_precision", None)
        if precision is None and name:  # torch before 2.9
            yield from {torch.get_float32_matmul_precision()} - {"highest"}
            return
        if precision not in (None, "ieee", "none"):
            yield f"{name or 'all'} {precision}"


def _hooks(model: nn.Module | None) -> Iterator[str]:
    """Forward hooks on all modules, and on those of this model."""
    for hook in (*torch_module._global_forward_pre_hooks.values(), *torch_module._global_forward_hooks.values()):
        yield f"{_qualified(hook)} on every module"
    for name, module in model.named_modules() if model is not None else ():
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()):
            if getattr(hook, "__module__", "") not in OWN_HOOKS:
                yield f"{_qualified(hook)} on {name or type(module).__name__}"


def _replaced(model: nn.Module | None) -> Iterator[str]:
    """Functions of the model's code, and of torch, that other code has put there; `forward` of single modules."""
    if model is None:
        own = {name for name in tuple(sys.modules) if name.startswith("transformers.models.") and ".modeling_" in name}
    else:
        own = {type(module).__module__ for module in model.modules()}
        for name, module in model.named_modules():
            if "forward" in vars(module):
                yield f"forward of {name or type(module).__name__}"
    layers = {name for name in tuple(sys.modules) if name.startswith("torch.nn.modules.")}
    for name in sorted((own | layers | {"torch", "torch.nn.functional", *SHARED_CODE}) - {"builtins"}):
        code = sys.modules.get(name)
        if code is not None:
            yield from _foreign_functions(code)


def _foreign_functions(code: types.ModuleType) -> Iterator[str]:
    """The functions and methods of a module that are neither those of its file nor of a package that it may import."""
    yield from _foreign_members(code.__name__, code, code)
    for name, value in tuple(vars(code).items()):
        if isinstance(value, type) and value.__module__ == code.__name__:
            yield from _foreign_members(f"{code.__name__}.{name}", value, code)


#: What a module or class held when it was last looked at, and which of it was foreign: reading all of torch for each trace would take long.
_LOOKED_AT: dict[str, tuple[tuple[Any, ...], tuple[str, ...]]] = {}


def _foreign_members(label: str, holder: types.ModuleType | type, code: types.ModuleType) -> tuple[str, ...]:
    """Those of a module or of a class in it."""
    values = tuple(vars(holder).values())
    seen, foreign = _LOOKED_AT.get(label, ((), ()))
    if len(seen) != len(values) or not all(map(operator.is_, seen, values)):
        allowed = LIBRARIES | {code.__name__.partition(".")[0]}
        origins = {name: rest for name, value in tuple(vars(holder).items()) if (rest := _origins(value) - allowed)}
        foreign = tuple(f"{label}.{name}" for name, rest in origins.items() if rest - _imported(getattr(code, "__file__", None)))
        _LOOKED_AT[label] = values, foreign
    return foreign


@functools.cache
def _imported(file: str | None) -> frozenset[str]:
    """The packages that a file of Python imports."""
    if file is None or not Path(file).is_file():
        return frozenset()
    nodes = list(ast.walk(ast.parse(Path(file).read_bytes())))
    names = [alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names]
    names += [node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module]
    return frozenset(name.partition(".")[0] for name in names)


def _origins(value: Any) -> set[str]:
    """The packages whose code runs when this is called: a function, with its decorators and what they hide, a method, or an object."""
    origins = set()
    while value is not None:
        if isinstance(value, staticmethod | classmethod):
            value = value.__func__
        if isinstance(value, functools.partial | functools.partialmethod):
            value = value.func
        elif isinstance(value, types.FunctionType):
            origin = str(value.__globals__.get("__name__", "")).partition(".")[0]
            origins |= set() if origin.startswith("namedtuple_") else {origin}  # Python's own, generated
            value = vars(value).get("__wrapped__")
        else:
            if callable(value) and not isinstance(value, type | types.ModuleType):
                origins.add(type(value).__module__.partition(".")[0])
            break
    return origins


def _qualified(function: Any) -> str:
    return f"{getattr(function, '__module__', '?')}.{getattr(function, '__qualname__', type(function).__name__)}"
