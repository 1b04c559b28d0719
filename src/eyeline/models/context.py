"""What changes the numbers of a pass beside the model: autocast, torch's switches, hooks, and functions that were replaced."""

from __future__ import annotations

import functools
import operator
import re
import sys
import types
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import nn
from torch.nn.modules import module as torch_module
from torch.utils._python_dispatch import _get_current_dispatch_mode_stack

from eyeline.messages import Message
from eyeline.models.evaluation import is_placed

#: Modules whose hooks only observe: transformers' own, to report attention, and those of a pass that another thread follows.
OWN_HOOKS = ("transformers.utils.output_capturing", "eyeline.models.attention", "eyeline.models.projections", "eyeline.models.watch")

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
    modules = {} if model is None else dict(model.named_modules())
    tensors = (parameter for module in modules.values() for parameter in module._parameters.values() if parameter is not None)
    devices = {"cpu", "cuda", *(parameter.device.type for parameter in tensors)}
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
        "hooks": ", ".join(_hooks(modules)),
        "replaced": ", ".join(_replaced(modules)),
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


def _hooks(modules: Mapping[str, nn.Module]) -> Iterator[str]:
    """Forward hooks on every module there is, and on these of one model."""
    for hook in (*torch_module._global_forward_pre_hooks.values(), *torch_module._global_forward_hooks.values()):
        yield f"{_qualified(hook)} on every module"
    for name, module in modules.items():
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()):
            if getattr(hook, "__module__", "") not in OWN_HOOKS:
                yield f"{_qualified(hook)} on {name or type(module).__name__}"


def _replaced(modules: Mapping[str, nn.Module]) -> Iterator[str]:
    """Functions of the model's code, and of torch, that other code has put there; `forward` of single modules."""
    own = {type(module).__module__ for module in modules.values()}
    if not modules:
        own = {name for name in tuple(sys.modules) if name.startswith("transformers.models.") and ".modeling_" in name}
    for name, module in modules.items():
        if "forward" in vars(module) and not is_placed(module):
            yield f"forward of {name or type(module).__name__}"
    for name in sorted((own | _layer_modules(len(sys.modules)) | {"torch", "torch.nn.functional", *SHARED_CODE}) - {"builtins"}):
        code = sys.modules.get(name)
        if code is not None:
            yield from _foreign_functions(code)


@functools.lru_cache(maxsize=1)
def _layer_modules(_n_modules: int) -> frozenset[str]:
    """The modules of torch's layers; looked for again when the number of modules that are imported has changed."""
    return frozenset(name for name in tuple(sys.modules) if name.startswith("torch.nn.modules."))


def _foreign_functions(code: types.ModuleType) -> Iterator[str]:
    """The functions and methods of a module that are neither those of its file nor of a package that it may import."""
    members = _members_of(code.__name__, code, code)
    yield from members.foreign
    for name, value in members.classes:
        yield from _members_of(f"{code.__name__}.{name}", value, code).foreign


class _Members(NamedTuple):
    """What a module or class held when it was last looked at: all of it, what was foreign, and the classes of the module's own code."""

    values: tuple[Any, ...]
    foreign: tuple[str, ...]
    classes: tuple[tuple[str, type], ...]


#: By name. Reading all of torch for each trace would take long.
_LOOKED_AT: dict[str, _Members] = {}


def _members_of(label: str, holder: types.ModuleType | type, code: types.ModuleType) -> _Members:
    """Those of a module or of a class in it."""
    values = tuple(vars(holder).values())
    known = _LOOKED_AT.get(label)
    if known is not None and len(known.values) == len(values) and all(map(operator.is_, known.values, values)):
        return known
    items = tuple(vars(holder).items())
    allowed = LIBRARIES | {code.__name__.partition(".")[0]}
    origins = {name: rest for name, value in items if (rest := _origins(value) - allowed)}
    foreign = tuple(f"{label}.{name}" for name, rest in origins.items() if rest - _imported(getattr(code, "__file__", None)))
    classes = tuple((name, value) for name, value in items if isinstance(value, type) and value.__module__ == code.__name__)
    _LOOKED_AT[label] = _Members(values, foreign, classes if holder is code else ())
    return _LOOKED_AT[label]


#: The names in a line of Python that imports: of a package, or of several.
_IMPORT = re.compile(r"^[ \t]*(?:from[ \t]+([\w.]+)[ \t]+import\b|import[ \t]+([^#\n]+))", re.MULTILINE)


@functools.cache
def _imported(file: str | None) -> frozenset[str]:
    """The packages that a file of Python imports, read from its lines: to parse it takes ten times as long."""
    if file is None or not Path(file).is_file():
        return frozenset()
    lines = _IMPORT.findall(Path(file).read_text(encoding="utf-8", errors="replace"))
    names = [name for one, several in lines for name in (one, *several.split(","))]
    return frozenset(name.strip().partition(".")[0].partition(" ")[0] for name in names if name.strip())


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
