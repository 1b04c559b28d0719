"""The signatures of all public names: functions, classes with their methods, properties and fields, without the modules they live in."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import re
from types import ModuleType
from typing import Any

import eyeline as el
from golden_parts import imports
from golden_parts.output import Output

#: Public modules beside those of `eyeline.__all__`.
FURTHER_MODULES = ("eyeline.bertviz", "eyeline.bertviz.neuron_view", "eyeline.circuitsvis", "eyeline.circuitsvis.attention")
#: Classes that public functions return and that have no public address.
RETURNED = (imports.Comparison, imports.RunFacts, imports.TrainedProbes, imports.View)

#: Methods without a name of their own that users call.
SPECIAL = ("__call__", "__contains__", "__getitem__", "__iter__", "__len__")


def write(output: Output) -> None:
    signatures: dict[str, Any] = {}
    modules = {"eyeline": el, **{name: importlib.import_module(name) for name in FURTHER_MODULES}}
    for name in sorted(el.__all__):
        if isinstance(value := getattr(el, name), ModuleType):
            modules[value.__name__] = value
    for module_name, module in sorted(modules.items()):
        for name in public_names(module):
            signatures[f"{module_name}.{name}"] = described(getattr(module, name))
    for returned in RETURNED:
        signatures[f"(returned) {returned.__name__}"] = described(returned)
    output.text("names.json", signatures)


def public_names(module: ModuleType) -> list[str]:
    """Those of `__all__`; without it the functions that the module defines."""
    if hasattr(module, "__all__"):
        return sorted(module.__all__)
    return sorted(
        name for name, value in vars(module).items() if inspect.isfunction(value) and value.__module__ == module.__name__ and name[0] != "_"
    )


def described(value: Any) -> Any:
    if isinstance(value, ModuleType):
        return {"kind": "module", "about": first_line(value), "names": public_names(value)}
    if inspect.isclass(value):
        return {"kind": "class", "about": first_line(value), "bases": [base.__name__ for base in value.__mro__], **members(value)}
    if callable(value):
        return {"kind": "function", "about": first_line(value), "signature": signature(value)}
    return {"kind": type(value).__name__, "entries": sorted(map(str, value)) if isinstance(value, dict) else []}


def members(kind: type) -> dict[str, Any]:
    """What a class of ours has: how it is made, its fields, and its public members in the order of their names."""
    parts = {"made": signature(kind)}
    if dataclasses.is_dataclass(kind):
        parts["fields"] = [
            f"{field.name}: {normal(field.type)}{default_of(field)}" for field in dataclasses.fields(kind) if field.name[0] != "_"
        ]
    listed: dict[str, Any] = {}
    for name in sorted(dir(kind)):
        owner = next((base for base in kind.__mro__ if name in vars(base)), None)
        special = name in SPECIAL
        if owner is None or not owner.__module__.startswith("eyeline") or (name[0] == "_" and not special):
            continue
        value = vars(owner)[name]
        if isinstance(value, property) and value.fget is not None:
            listed[name] = {"kind": "property", "about": first_line(value), "signature": signature(value.fget)}
        elif isinstance(value, staticmethod | classmethod):
            listed[name] = {"kind": type(value).__name__, "about": first_line(value.__func__), "signature": signature(value.__func__)}
        elif callable(value):
            listed[name] = {"kind": "method", "about": first_line(value), "signature": signature(value)}
        elif not special:
            listed[name] = {"kind": "value", "value": normal(repr(value)) if isinstance(value, str | int | float | bool | tuple) else ""}
    return {**parts, "members": listed}


def default_of(field: dataclasses.Field[Any]) -> str:
    if field.default is not dataclasses.MISSING:
        return f" = {normal(repr(field.default))}"
    return "" if field.default_factory is dataclasses.MISSING else " = (made)"


def signature(function: Any) -> str:
    try:
        parts = inspect.signature(function)
    except (TypeError, ValueError):
        return "?"
    listed = []
    for parameter in parts.parameters.values():
        note = "" if parameter.annotation is inspect.Parameter.empty else f": {normal(parameter.annotation)}"
        default = "" if parameter.default is inspect.Parameter.empty else f" = {normal(repr(parameter.default))}"
        listed.append(f"{parameter.kind.name.lower()} {parameter.name}{note}{default}")
    returned = "" if parts.return_annotation is inspect.Signature.empty else f" -> {normal(parts.return_annotation)}"
    return f"({', '.join(listed)}){returned}"


def normal(value: Any) -> str:
    """An annotation or a default as text, without the modules in which things live and without addresses."""
    text = value if isinstance(value, str) else getattr(value, "__name__", None) if isinstance(value, type) else repr(value)
    text = re.sub(r" at 0x[0-9a-f]+", "", str(text))
    return re.sub(r"\b(?:[A-Za-z_]\w*\.)+([A-Za-z_]\w*)", r"\1", text)


def first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").split("\n")[0]
