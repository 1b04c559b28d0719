"""Traces read from disk, without torch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from eyeline.capture.answer.prediction import Prediction
from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.capture.trace_file import ARRAYS, TRACE
from eyeline.storage.names import as_path
from eyeline.storage.sealed import read_sealed
from eyeline.text.tokenized import TokenizedText


def open_trace(path: str | Path) -> Trace:
    """Read a trace that `trace.save` wrote. Damaged, truncated or foreign files are refused by name, never half-read."""
    path = as_path(path)
    sealed = read_sealed(path, TRACE)
    header, arrays = sealed.header, sealed.arrays
    try:
        texts = [TokenizedText.from_json(text) for text in header["texts"]]
        stacks = {name: _restore(name, data, texts, arrays) for name, data in header["stacks"].items()}
        return Trace(header["model"], stacks, header["about"], Prediction.from_json(header.get("prediction")))
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise TRACE.damaged(path, f"{type(error).__name__}: {error}") from error


def _restore(name: str, data: dict[str, Any], texts: list[TokenizedText], arrays: dict[str, np.ndarray]) -> Stack:
    by_layer: dict[str, tuple[np.ndarray | None, ...]] = {}
    for what, indices in data["kept"].items():
        if what not in ARRAYS:
            raise ValueError(f"unknown array {what!r}")
        if indices == "stacked":
            by_layer[f"{what}_by_layer"] = tuple(arrays[f"{name}.{what}"])
        else:
            by_layer[f"{what}_by_layer"] = tuple(None if i < 0 else arrays[f"{name}.{what}.{i}"] for i in indices)
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
