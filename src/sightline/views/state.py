"""What a view's state may hold: every key and its values, once, as docs/view-format.md lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from sightline.errors import TraceError, nearest

#: Keys whose values are words.
WORDS: dict[str, tuple[str, ...]] = {
    "as": ("lines", "heatmap"),
    "level": ("token", "word"),
    "direction": ("from", "to"),
    "segments": ("all", "aa", "ab", "ba", "bb"),
    "combine": ("each", "mean", "max"),
    "colour_by": ("head", "layer"),
    "theme": ("system", "light", "dark"),
}
SWITCHES = ("hide_special", "hide_sink", "renormalise", "rescale", "opened")
#: Keys that are one position, or a list of them, and what they count.
POSITIONS = {"stack": "stacks", "layer": "layers", "query": "queries", "expanded": "keys"}
LISTS = {"heads": "heads", "combine_layers": "layers", "locked": "tokens", "rows": "layers", "columns": "columns"}
ZOOM = {"x": (0, 1), "y": (0, 1), "k": (1, 4096)}
KEYS = (*POSITIONS, *WORDS, *LISTS, *SWITCHES, "threshold", "find", "zoom")


def checked(given: Mapping[str, Any], spec: Mapping[str, Any], now: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The given part of a state as plain JSON, or an error that names the key and its choices. `now` is the state it changes."""
    for key in given:
        if key not in KEYS:
            raise TraceError(f"A view's state has no {key!r}.", *suggested(key, KEYS))
    clean: dict[str, Any] = {}
    for key in sorted(given, key=KEYS.index):  # the stack and the layer say how many heads and tokens there are
        clean[key] = checked_value(key, given[key], spec, {**(now or {}), **clean})
    return {key: clean[key] for key in given}


def checked_value(key: str, value: Any, spec: Mapping[str, Any], state: Mapping[str, Any]) -> Any:
    if key in WORDS:
        return word(key, value)
    if key in SWITCHES:
        return switch(key, value)
    if key in POSITIONS:
        return None if key == "expanded" and value is None else position(key, value, POSITIONS[key], spec, state)
    if key in LISTS:
        return positions(key, value, LISTS[key], spec, state)
    if key == "threshold":
        return number(key, value, 0, 1)
    if key == "zoom":
        return zoom(value)
    if not isinstance(value, str):
        raise TraceError(f"{key}={value!r}.", "Give the text to look for.")
    return value


def word(key: str, value: Any) -> str:
    if isinstance(value, str) and value in WORDS[key]:
        return value
    raise TraceError(f"{key}={value!r}.", *suggested(value if isinstance(value, str) else "", WORDS[key]))


def suggested(name: str, choices: Iterable[str]) -> list[str]:
    """The nearest of the choices where one is near, and all of them."""
    choices = tuple(choices)
    every = f"Choices: {', '.join(choices)}."
    near = nearest(name, choices)
    return [every] if near == every else [near, every]


def switch(key: str, value: Any) -> bool:
    if isinstance(value, bool | np.bool_):
        return bool(value)
    raise TraceError(f"{key}={value!r}.", "Choices: True, False.")


def number(key: str, value: Any, low: float, high: float) -> float:
    if isinstance(value, bool) or not isinstance(value, Real) or not low <= float(value) <= high:
        raise TraceError(f"{key}={value!r}.", f"Give a number from {low} to {high}.")
    return int(value) if isinstance(value, Integral) else float(value)


def zoom(value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise TraceError(f"zoom={value!r}.", "Give {'x': 0, 'y': 0, 'k': 1}: the corner in fractions of the map, and the magnification.")
    for key in value:
        if key not in ZOOM:
            raise TraceError(f"zoom has no {key!r}.", f"Choices: {', '.join(ZOOM)}.")
    return {key: number(f"zoom's {key}", one, *ZOOM[key]) for key, one in value.items()}


def position(key: str, value: Any, what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> int:
    count = counted(what, spec, state)
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 <= int(value) < count:
        raise TraceError(f"{key}={value!r}.", f"Give a position from 0 to {count - 1}: there are {count} {what}.")
    return int(value)


def positions(key: str, value: Any, what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> list[int]:
    """A list of positions; a single number is a list of one."""
    if isinstance(value, str | bytes | Mapping) or not isinstance(value, Iterable | Integral):
        raise TraceError(f"{key}={value!r}.", f"Give a list of positions, such as [0, 1]: there are {counted(what, spec, state)} {what}.")
    each = value if isinstance(value, Iterable) else [value]
    return [position(key, one, what, spec, state) for one in each]


def counted(what: str, spec: Mapping[str, Any], state: Mapping[str, Any]) -> int:
    """How many there are of what a position counts, in the stack and layer that the state shows."""
    if what == "stacks":
        return len(spec["stacks"])
    stack = spec["stacks"][state.get("stack", 0)]
    if what == "layers":
        return len(stack["layers"])
    if what == "columns":
        return max(int(layer["n_heads"]) for layer in stack["layers"])
    if what == "heads":
        return int(stack["layers"][min(state.get("layer", 0), len(stack["layers"]) - 1)]["n_heads"])
    side = "query_text" if what == "queries" or (what == "tokens" and state.get("direction") != "to") else "key_text"
    return len(spec["texts"][stack[side]]["tokens"])
