"""Spaces on disk: safetensors for the arrays, a JSON header for the rest. Written whole or not at all; read without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eyeline.results.facts_json import facts_from_json, facts_to_json
from eyeline.results.space.space import LinearProjections, Space, SpaceStack, Vectors
from eyeline.results.space.tokens import SpaceTokens
from eyeline.storage.records import from_json
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed
from eyeline.text.tokenized import TokenizedText

SPACE = FileKind(
    "space",
    format=2,
    written_by="A space is written by: eyeline space CORPUS -o FOLDER",
    otherwise="el.open_trace reads traces.",
)
#: The file of a space in the folder of its run.
FILE = "space.safetensors"
POINTS = ("queries", "keys", "query_norms", "key_norms", "top_keys", "top_weights", "maps")
LINEAR = ("query", "key", "offset")
VECTORS = ("queries", "keys", "values")


def save_space(space: Space, path: str | Path, *, vectors: bool = True) -> None:
    """Write a space; without `vectors` it is some ten times smaller, and can be looked at but not searched or projected anew."""
    arrays: dict[str, np.ndarray] = {}
    header = {
        **{name: getattr(space, name) for name in ("model", "of", "project", "gauge", "dims")},
        "facts": None if space.facts is None else facts_to_json(space.facts),
        "stacks": [_describe(stack, arrays, vectors) for stack in space.stacks.values()],
    }
    write_sealed(path, SPACE, header, arrays)


def open_space(path: str | Path) -> Space:
    """Read a space: its file, or the folder of a run that holds one. Damaged or foreign files are refused by name."""
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    sealed = read_sealed(path, SPACE)
    header, arrays = sealed.header, sealed.arrays
    try:
        stacks = {data["name"]: _restore(data, arrays) for data in header["stacks"]}
        about = header["about"] if sealed.old else header["facts"]
        facts = facts_from_json(about, form=1 if sealed.old else 2) if about else None
        model, of, project, gauge = (from_json(str, header[name], name) for name in ("model", "of", "project", "gauge"))
        return Space(model, of, project, gauge, from_json(int, header["dims"], "dims"), stacks, facts)
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise SPACE.damaged(path, f"{type(error).__name__}: {error}") from error


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


def _restore(data: dict[str, Any], arrays: dict[str, np.ndarray]) -> SpaceStack:
    prefix = data["name"]
    query_tokens = _tokens_from_json(data["query_tokens"])
    linear = vectors = None
    if f"{prefix}.linear.query" in arrays:
        linear = LinearProjections(*(arrays[f"{prefix}.linear.{name}"] for name in LINEAR))
    if f"{prefix}.vectors.queries" in arrays:
        vectors = Vectors(
            arrays[f"{prefix}.vectors.queries"],
            arrays[f"{prefix}.vectors.keys"],
            tuple(data["scales"]),
            arrays.get(f"{prefix}.vectors.values"),
        )
    return SpaceStack(
        name=prefix,
        layers=tuple(data["layers"]),
        heads=tuple(data["heads"]),
        query_tokens=query_tokens,
        key_tokens=query_tokens if data["key_tokens"] is None else _tokens_from_json(data["key_tokens"]),
        facts={name: arrays[f"{prefix}.facts.{name}"] for name in data["facts"]},
        linear=linear,
        vectors=vectors,
        pairs={name: arrays[f"{prefix}.pairs.{name}"] for name in data["pairs"]},
        **{name: arrays.get(f"{prefix}.{name}") for name in POINTS},  # type: ignore[arg-type]
    )


def _tokens_to_json(tokens: SpaceTokens) -> dict[str, Any]:
    return {"texts": [text.to_json() for text in tokens.texts], "tags": [list(tags) for tags in tokens.tags]}


def _tokens_from_json(data: dict[str, Any]) -> SpaceTokens:
    return SpaceTokens(tuple(TokenizedText.from_json(text) for text in data["texts"]), tuple(tuple(tags) for tags in data["tags"]))
