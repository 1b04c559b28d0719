"""Spaces on disk: safetensors for the arrays, a JSON header for the rest. Written whole or not at all."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.results.facts_json import facts_to_json
from eyeline.results.space.record import SpaceRecord
from eyeline.results.space.stack import SpaceStack
from eyeline.results.space.tokens import SpaceTokens
from eyeline.storage.sealed import FileKind, write_sealed

SPACE = FileKind(
    "space",
    format=2,
    written_by="A space is written by: eyeline space CORPUS -o FOLDER",
    otherwise="el.open opens traces and spaces.",
)
#: The file of a space in the folder of its run.
ENDING = ".safetensors"
FILE = f"space{ENDING}"
POINTS = ("queries", "keys", "query_norms", "key_norms", "top_keys", "top_weights", "maps")
LINEAR = ("query", "key", "offset", "key_offset")
VECTORS = ("queries", "keys", "values")


def save_space(space: SpaceRecord, path: str | Path, *, vectors: bool = True) -> None:
    """Write a space; without `vectors` it is some ten times smaller, and can be looked at but not searched or projected again."""
    arrays: dict[str, np.ndarray] = {}
    header = {
        **{name: getattr(space, name) for name in ("model", "of", "project", "gauge", "dims", "held_out")},
        "facts": None if space.facts is None else facts_to_json(space.facts),
        "gauges": [_finite(asdict(row)) for row in space.gauges],
        "stacks": [_describe(stack, arrays, vectors) for stack in space.stacks.values()],
    }
    write_sealed(path, SPACE, header, arrays)


def _finite(row: dict[str, Any]) -> dict[str, Any]:
    """JSON has no nan."""
    return {name: None if isinstance(value, float) and not np.isfinite(value) else value for name, value in row.items()}


def _describe(stack: SpaceStack, arrays: dict[str, np.ndarray], vectors: bool) -> dict[str, Any]:
    def keep(prefix: str, source: object, names: tuple[str, ...]) -> None:
        for name in names:
            array = getattr(source, name)
            if array is not None:
                arrays[f"{stack.name}.{prefix}{name}"] = np.ascontiguousarray(array)

    keep("", stack, POINTS)
    if stack.linear is not None:
        keep("linear.", stack.linear, LINEAR)
    if vectors and stack.vectors is not None:
        keep("vectors.", stack.vectors, VECTORS)
    for name, values in stack.facts.items():
        arrays[f"{stack.name}.facts.{name}"] = np.ascontiguousarray(values, dtype=np.float64)
    for name, values in stack.pairs.items():
        arrays[f"{stack.name}.pairs.{name}"] = np.ascontiguousarray(values)
    return {
        "name": stack.name,
        "layers": list(stack.layers),
        "heads": list(stack.heads),
        "query_tokens": _tokens_to_json(stack.query_tokens),
        "key_tokens": None if stack.key_tokens is stack.query_tokens else _tokens_to_json(stack.key_tokens),
        "scales": None if stack.vectors is None else list(stack.vectors.scales),
        "facts": list(stack.facts),
        "pairs": list(stack.pairs),
    }


def _tokens_to_json(tokens: SpaceTokens) -> dict[str, Any]:
    return {"texts": [text.to_json() for text in tokens.texts], "tags": [list(tags) for tags in tokens.tags]}
