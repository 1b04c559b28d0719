"""Spaces on disk: safetensors for the arrays, a JSON header for the rest. Written whole or not at all; read without torch."""

from __future__ import annotations

import json
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sightline.capture.files import replacing
from sightline.capture.storage import HEADER, HEADER_CRC, checksum
from sightline.errors import StorageError, TextError, TraceError
from sightline.results.space import LinearMaps, Space, SpaceStack, Vectors
from sightline.results.space_tokens import SpaceTokens
from sightline.text.tokenized import TokenizedText

#: Raised when the layout of the file changes; a file of another version is refused by name.
FORMAT = 1
#: The file of a space in the folder of its run.
FILE = "space.safetensors"
POINTS = ("queries", "keys", "query_norms", "key_norms", "top_keys", "top_weights", "maps")
LINEAR = ("query", "key", "offset")
VECTORS = ("queries", "keys", "values")


def save_space(space: Space, path: str | Path, *, vectors: bool = True) -> None:
    """Write a space; without `vectors` it is some ten times smaller, and can be looked at but not searched or projected anew."""
    arrays: dict[str, np.ndarray] = {}
    header = {
        "format": FORMAT,
        "kind": "space",
        **{name: getattr(space, name) for name in ("model", "of", "project", "gauge", "dims")},
        "about": dict(space.about),
        "stacks": [_describe(stack, arrays, vectors) for stack in space.stacks.values()],
    }
    header["crc32"] = {name: checksum(array) for name, array in arrays.items()}
    with replacing(path) as temporary:
        text = json.dumps(header, ensure_ascii=True)
        save_file(arrays, temporary, metadata={HEADER: text, HEADER_CRC: str(zlib.crc32(text.encode()))})


def open_space(path: str | Path) -> Space:
    """Read a space: its file, or the folder of a run that holds one. Damaged or foreign files are refused by name."""
    path = Path(path)
    path = path / FILE if path.is_dir() else path
    if not path.is_file():
        raise StorageError(f"{path}: no such file.", "A space is written by: sightline space CORPUS -o FOLDER")
    try:
        with safe_open(path, framework="numpy") as file:
            header = _header(path, file.metadata())
            arrays = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
    except (SafetensorError, OSError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(
            f"{path}: cannot be read as safetensors ({error}).", "It is damaged, truncated or another kind of file."
        ) from error
    for name, expected in header.get("crc32", {}).items():
        if name not in arrays or checksum(arrays[name]) != expected:
            raise StorageError(f"{path}: the array {name!r} is damaged.", "Its checksum does not match. Make the space again.")
    try:
        stacks = {data["name"]: _restore(data, arrays) for data in header["stacks"]}
        given = {name: header[name] for name in ("model", "of", "project", "gauge", "dims", "about")}
        return Space(stacks=stacks, **given)
    except (KeyError, IndexError, TypeError, AttributeError, TraceError, TextError) as error:
        raise StorageError(f"{path}: its header is damaged ({type(error).__name__}: {error}).", "Make the space again.") from error


def _header(path: Path, metadata: dict[str, str] | None) -> dict[str, Any]:
    try:
        header = json.loads((metadata or {})[HEADER])
        kind, version = header["kind"], header["format"]
    except (KeyError, TypeError, json.JSONDecodeError) as error:
        raise StorageError(f"{path}: a safetensors file, but not a space of sightline.", "sl.open_trace reads traces.") from error
    if kind != "space" or version != FORMAT:
        raise StorageError(
            f"{path}: holds a {kind} in format {version}; needed: a space in format {FORMAT}.",
            "Make it again, or use the version that wrote it.",
        )
    if (metadata or {}).get(HEADER_CRC) != str(zlib.crc32((metadata or {})[HEADER].encode())):
        raise StorageError(f"{path}: its header is damaged (its checksum does not match).", "Make the space again.")
    return dict(header)


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
        linear = LinearMaps(*(arrays[f"{prefix}.linear.{name}"] for name in LINEAR))
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
