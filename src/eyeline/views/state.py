"""What a view's state may hold: every key and its values, once, as docs/view-format.md lists them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from numbers import Integral, Real
from typing import Any

import numpy as np

from eyeline.errors import TraceError, nearest

#: Keys whose values are words.
WORDS: dict[str, tuple[str, ...]] = {
    "as": ("lines", "heatmap"),
    "level": ("token", "word"),
    "direction": ("from", "to"),
    "segments": ("all", "aa", "ab", "ba", "bb"),
    "combine": ("each", "mean", "max"),
    "colour_by": ("head", "layer"),
    "theme": ("system", "light", "dark"),
    "colour_points": ("kind", "position", "position5", "token", "tag", "text", "norm"),
    "links": ("chosen", "best", "top", "none"),
    "tool": ("move", "lasso"),
}
SWITCHES = ("hide_special", "hide_sink", "renormalise", "rescale", "opened")
#: Keys that are one position, or a list of them, and what they count.
POSITIONS = {"stack": "stacks", "layer": "layers", "query": "queries", "expanded": "keys", "point": "points", "text": "texts"}
#: Positions that may be none.
NULLABLE = ("expanded", "point", "text")
LISTS = {"heads": "heads", "combine_layers": "layers", "locked": "tokens", "rows": "layers", "columns": "columns", "lasso": "points"}
#: Keys that are one number, or a few by name, and their bounds.
NUMBERS: dict[str, tuple[float, float]] = {"threshold": (0, 1), "links_top": (1, 200)}
PARTS: dict[str, dict[str, tuple[float, float]]] = {
    "zoom": {"x": (0, 1), "y": (0, 1), "k": (1, 4096)},
    "turn": {"yaw": (-10_000, 10_000), "pitch": (-1.5708, 1.5708)},
}
EXAMPLES = {
    "zoom": "Give {'x': 0, 'y': 0, 'k': 1}: the corner in fractions of the map, and the magnification.",
    "turn": "Give {'yaw': 0.6, 'pitch': 0.35}: angles in radians.",
}
KEYS = (*POSITIONS, *WORDS, *LISTS, *SWITCHES, *NUMBERS, *PARTS, "find", "pairs")


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
        return None if key in NULLABLE and value is None else position(key, value, POSITIONS[key], spec, state)
    if key in LISTS:
        return positions(key, value, LISTS[key], spec, state)
    if key in NUMBERS:
        return number(key, value, *NUMBERS[key])
    if key in PARTS:
        return parts(key, value)
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


def parts(key: str, value: Any) -> dict[str, float]:
    if not isinstance(value, Mapping):
        raise TraceError(f"{key}={value!r}.", EXAMPLES[key])
    for name in value:
        if name not in PARTS[key]:
            raise TraceError(f"{key} has no {name!r}.", f"Choices: {', '.join(PARTS[key])}.")
    return {name: number(f"{key}'s {name}", one, *PARTS[key][name]) for name, one in value.items()}


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
    if what in ("texts", "points"):
        return counted_in_space(what, spec, state)
    if what == "heads":
        return int(stack["layers"][min(state.get("layer", 0), len(stack["layers"]) - 1)]["n_heads"])
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
