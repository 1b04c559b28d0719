"""Traces on disk: safetensors for the arrays, a JSON header for the rest. Written whole or not at all; read without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eyeline.capture.trace import KEEPABLE, Stack, Trace
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed
from eyeline.text.tokenized import TokenizedText

TRACE = FileKind(
    "trace",
    format=2,
    written_by="Traces are written by trace.save(path) or: eyeline trace TEXT -o FILE.safetensors",
    otherwise="Does it hold a model's weights? el.load opens those.",
)
ARRAYS = (*KEEPABLE, "mask", "bias")


def save_trace(trace: Trace, path: str | Path) -> None:
    """Write a trace to `path`. A full disk or a missing folder is a StorageError, and leaves no file behind."""
    arrays: dict[str, np.ndarray] = {}
    texts: list[TokenizedText] = []
    stacks = {name: _describe(stack, texts, arrays) for name, stack in trace.stacks.items()}
    header = {"model": trace.model, "about": dict(trace.about), "texts": [text.to_json() for text in texts], "stacks": stacks}
    write_sealed(path, TRACE, header, arrays)


def open_trace(path: str | Path) -> Trace:
    """Read a trace that `trace.save` wrote. Damaged, truncated or foreign files are refused by name, never half-read."""
    path = Path(path)
    sealed = read_sealed(path, TRACE)
    header, arrays = sealed.header, sealed.arrays
    try:
        texts = [TokenizedText.from_json(text) for text in header["texts"]]
        stacks = {name: _restore(name, data, texts, arrays) for name, data in header["stacks"].items()}
        return Trace(header["model"], stacks, header["about"])
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise TRACE.damaged(path, f"{type(error).__name__}: {error}") from error


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
