"""Traces on disk: safetensors for the arrays, a JSON header for the rest. Written whole or not at all; read without torch."""

from __future__ import annotations

import json
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from safetensors import SafetensorError, safe_open
from safetensors.numpy import save_file

from sightline.capture.files import replacing
from sightline.capture.trace import KEEPABLE, Stack, Trace
from sightline.errors import StorageError
from sightline.text.tokenized import TokenizedText

#: Raised when the layout of the file changes; a file of another version is refused by name.
FORMAT = 1
HEADER, HEADER_CRC = "sightline", "sightline-crc32"
ARRAYS = (*KEEPABLE, "mask", "bias")


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace to `path`. A full disk or a missing folder is a StorageError, and leaves no file behind."""
    arrays: dict[str, np.ndarray] = {}
    texts: list[TokenizedText] = []
    stacks = {name: _describe(stack, texts, arrays) for name, stack in trace.stacks.items()}
    header = {
        "format": FORMAT,
        "kind": "trace",
        "model": trace.model,
        "about": dict(trace.about),
        "texts": [text.to_json() for text in texts],
        "stacks": stacks,
        "crc32": {name: checksum(array) for name, array in arrays.items()},
    }
    with replacing(path) as temporary:
        text = json.dumps(header, ensure_ascii=True)
        save_file(arrays, temporary, metadata={HEADER: text, HEADER_CRC: str(zlib.crc32(text.encode()))})


def open_trace(path: str | Path) -> Trace:
    """Read a trace that `trace.save` wrote. Damaged, truncated or foreign files are refused by name, never half-read."""
    path = Path(path)
    if not path.is_file():
        raise StorageError(f"{path}: no such file.", "Traces are written by trace.save(path) or: sightline trace TEXT -o FILE.safetensors")
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
    for name, expected in header["crc32"].items():
        if name not in arrays or checksum(arrays[name]) != expected:
            raise StorageError(f"{path}: the array {name!r} is damaged.", "Its checksum does not match. Make the trace again.")
    try:
        texts = [TokenizedText.from_json(text) for text in header["texts"]]
        stacks = {name: _restore(name, data, texts, arrays) for name, data in header["stacks"].items()}
        return Trace(header["model"], stacks, header["about"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, StorageError):
            raise
        raise StorageError(f"{path}: its header is damaged ({type(error).__name__}: {error}).", "Make the trace again.") from error


def checksum(array: np.ndarray) -> int:
    """CRC-32 of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)


def _header(path: Path, metadata: Mapping[str, str] | None) -> dict[str, Any]:
    if not metadata or HEADER not in metadata:
        raise StorageError(
            f"{path}: a safetensors file, but not a trace of sightline.", "Does it hold a model's weights? sl.load opens those."
        )
    try:
        header = json.loads(metadata[HEADER])
    except json.JSONDecodeError as error:
        raise StorageError(f"{path}: its header is damaged ({error}).", "Make the trace again.") from error
    if not isinstance(header, dict) or header.get("format") != FORMAT:
        found = header.get("format") if isinstance(header, dict) else None
        raise StorageError(
            f"{path}: written in format {found!r}; this sightline reads format {FORMAT}.",
            "Make it again, or use the version that wrote it.",
        )
    if metadata.get(HEADER_CRC) != str(zlib.crc32(metadata[HEADER].encode())) or header.get("kind") != "trace":
        raise StorageError(f"{path}: its header is damaged (its checksum does not match).", "Make the trace again.")
    return header


def _describe(stack: Stack, texts: list[TokenizedText], arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    """The header entry of a stack; its arrays are added to `arrays`, whole where every layer has one shape, else layer by layer."""
    kept: dict[str, list[int] | str] = {}
    for what in ARRAYS:
        layers: tuple[np.ndarray | None, ...] = getattr(stack, f"{what}_by_layer")
        if not layers:
            continue
        if what in KEEPABLE and len({array.shape for array in layers if array is not None}) == 1:
            arrays[f"{stack.name}.{what}"] = stack._stacked(what)
            kept[what] = "stacked"
            continue
        places: list[int] = []
        distinct: list[np.ndarray] = []
        for array in layers:
            if array is None:
                places.append(-1)
                continue
            known = next((i for i, other in enumerate(distinct) if other is array), len(distinct))
            if known == len(distinct):
                distinct.append(array)
                arrays[f"{stack.name}.{what}.{known}"] = np.ascontiguousarray(array)
            places.append(known)
        kept[what] = places

    def place(text: TokenizedText) -> int:
        if text not in texts:
            texts.append(text)
        return texts.index(text)

    return {
        "query_text": place(stack.query_text),
        "key_text": place(stack.key_text),
        "layers": list(stack.layers),
        "scales": list(stack.scales),
        "plain": stack.plain,
        "level": stack.level,
        "why_missing": stack.why_missing,
        "kept": kept,
    }


def _restore(name: str, data: dict[str, Any], texts: list[TokenizedText], arrays: dict[str, np.ndarray]) -> Stack:
    by_layer: dict[str, tuple[np.ndarray | None, ...]] = {}
    for what, places in data["kept"].items():
        if what not in ARRAYS:
            raise ValueError(f"unknown array {what!r}")
        if places == "stacked":
            by_layer[f"{what}_by_layer"] = tuple(arrays[f"{name}.{what}"])
        else:
            by_layer[f"{what}_by_layer"] = tuple(None if i < 0 else arrays[f"{name}.{what}.{i}"] for i in places)
    return Stack(
        name=name,
        query_text=texts[data["query_text"]],
        key_text=texts[data["key_text"]],
        layers=tuple(data["layers"]),
        scales=tuple(data["scales"]),
        plain=data["plain"],
        level=data["level"],
        why_missing=data["why_missing"],
        **by_layer,  # type: ignore[arg-type]
    )
