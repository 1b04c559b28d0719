"""The state of a view, checked.

state_schema.json lists every key of a state and its values (`python`: the type of an option that Python takes in other forms too). From it
scripts/generate.py writes the types of options.py, those of the front end and the table of docs/view-format.md.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from importlib.resources import files
from numbers import Integral, Real
from typing import Any

import numpy as np

from eyeline.errors import TraceError, nearest
from eyeline.text.named_pairs import named_pairs

SCHEMA: list[dict[str, Any]] = json.loads(files("eyeline.look.views").joinpath("state_schema.json").read_text(encoding="utf-8"))

#: In the order in which they are checked: the stack and the layer say how many heads and tokens there are.
KEYS = tuple(row["key"] for row in SCHEMA)

ROWS = {row["key"]: row for row in SCHEMA}


def checked(given: Mapping[str, Any], spec: Mapping[str, Any], now: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The given part of a state as plain JSON, or an error that names the key and its choices. `now` is the state it changes."""
    for key in given:
        if key not in KEYS:
            raise TraceError(f"A view's state has no {key!r}.", *suggested(key, KEYS))
    clean: dict[str, Any] = {}
    for key in sorted(given, key=KEYS.index):
        clean[key] = checked_value(key, given[key], spec, {**(now or {}), **clean})
    return {key: clean[key] for key in given}


def checked_value(key: str, value: Any, spec: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    """The value of one option, or an error that lists the choices."""
    row = ROWS[key]
    match row["type"]:
        case "choice":
            return choice(key, value, row["choices"])
        case "switch":
            return switch(key, value)
        case "index or null" if value is None:
            return None
        case "index" | "index or null":
            return index(key, value, row["counts"], spec, state)
        case "indices":
            return indices(key, value, row["counts"], spec, state)
        case "number":
            return number(key, value, row["low"], row["high"])
        case "parts":
            return parts(key, value, row["parts"], row["example"])
    if key == "pairs" and not isinstance(value, str):
        return "; ".join(map(str, named_pairs(value)))
    if not isinstance(value, str):
        raise TraceError(f"{key}={value!r}.", "Give the text to look for.")
    return value


def choice(key: str, value: Any, choices: Sequence[str]) -> str:
    """One of several names."""
    if isinstance(value, str) and value in choices:
        return value
    raise TraceError(f"{key}={value!r}.", *suggested(value if isinstance(value, str) else "", choices))


def suggested(name: str, choices: Iterable[str]) -> list[str]:
    """The nearest choice, if any is near, and all of them."""
    choices = tuple(choices)
    all_choices = f"Choices: {', '.join(choices)}."
    near = nearest(name, choices)
    return [all_choices] if near == all_choices else [near, all_choices]


def switch(key: str, value: Any) -> bool:
    """True or False."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TraceError(f"{key}={value!r}.", "Choices: True, False.")


def number(key: str, value: Any, low: float, high: float) -> float:
    """A number between two bounds."""
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise TraceError(f"{key}={value!r}.", f"Give a number from {low} to {high}.")
    return int(value) if isinstance(value, Integral) else float(value)


def parts(key: str, value: Any, bounds: Mapping[str, tuple[float, float]], example: str) -> dict[str, float]:
    """Named numbers, each between its own bounds."""
    if not isinstance(value, Mapping):
        raise TraceError(f"{key}={value!r}.", example)
    for name in value:
        if name not in bounds:
            raise TraceError(f"{key} has no {name!r}.", f"Choices: {', '.join(bounds)}.")
    return {name: number(f"{key}'s {name}", part, *bounds[name]) for name, part in value.items()}


def index(key: str, value: Any, what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> int:
    """An index of something that the view has, such as a head."""
    count = counted(what, spec, state)
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < count:
        raise TraceError(f"{key}={value!r}.", f"Give an index from 0 to {count - 1}: there are {count} {what}.")
    return int(value)


def indices(key: str, value: Any, what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> list[int]:
    """A list of indices; a single number is a list with one entry."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable | Integral):
        raise TraceError(f"{key}={value!r}.", f"Give a list of indices, such as [0, 1]: there are {counted(what, spec, state)} {what}.")
    each = value if isinstance(value, Iterable) else [value]
    return [index(key, entry, what, spec, state) for entry in each]


def counted(what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> int:
    """The number of `what` (heads, tokens …) in the stack and layer that the state shows."""
    if what == "stacks":
        return len(spec["stacks"])
    if what == "quantities":
        return len(spec.get("quantities", (None,)))
    if what in ("written", "parts"):
        generation = spec.get("generation", {"probabilities": (), "parts": ()})
        return len(generation["probabilities" if what == "written" else "parts"])
    stack = spec["stacks"][state.get("stack", 0)]
    if what == "layers":
        return len(stack["layers"])
    if what == "columns":
        return max(int(layer["n_heads"]) for layer in stack["layers"])
    if what in ("texts", "points"):
        return counted_in_space(what, spec, state)
    if what == "heads":
        return int(stack["layers"][min(state.get("layer", 0), len(stack["layers"]) - 1)]["n_heads"])
    if what in ("query_parts", "key_parts"):
        return len(spec["texts"][stack[f"{what.removesuffix('_parts')}_text"]].get("parts", ()))
    side = "query_text" if what == "queries" or (what == "tokens" and state.get("direction") != "to") else "key_text"
    return len(spec["texts"][stack[side]]["tokens"])


def counted_in_space(what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> int:
    """Texts or points of the first space; a view of another kind has none."""
    if "spaces" not in spec:
        return 0
    space = spec["spaces"][0]
    stack = space["stacks"][state.get("stack", 0)]
    if what == "texts":
        return len(stack["key_texts"])
    sides = ("key_texts",) if space["of"] == "values" else ("query_texts", "key_texts")
    return sum(len(spec["texts"][text]["tokens"]) for side in sides for text in stack[side])
