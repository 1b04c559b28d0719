"""Traces on disk: safetensors for the arrays, a JSON header for the rest. Written whole or not at all; read without torch."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.capture.answer.prediction import Prediction
from eyeline.capture.stack import Stack
from eyeline.capture.trace_facts import TraceFacts
from eyeline.storage.sealed import FileKind, write_sealed
from eyeline.text.tokenized import TokenizedText, index_of

TRACE = FileKind(
    "trace",
    format=2,
    written_by="Traces are written by trace.save(path) or: eyeline trace TEXT -o FILE.safetensors",
    otherwise="Does it hold a model's weights? el.load opens those.",
)
#: What a trace can keep. With queries or keys come the mask and the bias, since the weights are made of all four.
KEEPABLE = ("weights", "queries", "keys", "values")
ARRAYS = (*KEEPABLE, "mask", "bias")


def write_trace(path: str | Path, model: str, stacks: Mapping[str, Stack], about: TraceFacts, prediction: Prediction | None) -> None:
    """Write the parts of a trace to `path`. A full disk or a missing folder is a StorageError, and leaves no file behind."""
    arrays: dict[str, np.ndarray] = {}
    texts: list[TokenizedText] = []
    described = {name: _describe(stack, texts, arrays) for name, stack in stacks.items()}
    header = {"model": model, "about": dict(about), "texts": [text.to_json() for text in texts], "stacks": described}
    if prediction is not None:
        header["prediction"] = prediction.to_json()
    write_sealed(path, TRACE, header, arrays)


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
        indices: list[int] = []
        distinct: list[np.ndarray] = []
        for array in layers:
            if array is None:
                indices.append(-1)
                continue
            known = next((i for i, other in enumerate(distinct) if other is array), len(distinct))
            if known == len(distinct):
                distinct.append(array)
                arrays[f"{stack.name}.{what}.{known}"] = np.ascontiguousarray(array)
            indices.append(known)
        kept[what] = indices

    return {
        "query_text": index_of(stack.query_text, texts),
        "key_text": index_of(stack.key_text, texts),
        "layers": list(stack.layers),
        "scales": list(stack.scales),
        "plain": stack.plain,
        "level": stack.level,
        "why_missing": stack.why_missing,
        "kept": kept,
    }
