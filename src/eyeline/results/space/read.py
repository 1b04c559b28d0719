"""Spaces read from disk, without torch."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.results.facts_json import facts_from_json
from eyeline.results.space.file import FILE, LINEAR, POINTS, SPACE
from eyeline.results.space.gauge_row import GaugeRow
from eyeline.results.space.space import Space
from eyeline.results.space.stack import LinearProjections, SpaceStack, Vectors
from eyeline.results.space.tokens import SpaceTokens
from eyeline.storage.names import as_path
from eyeline.storage.records import from_json
from eyeline.storage.sealed import read_sealed
from eyeline.text.tokenized import TokenizedText


def open_space(path: str | Path) -> Space:
    """Read a space: its file, or the folder of a run that holds one. Damaged or foreign files are refused by name."""
    path = as_path(path)
    path = path / FILE if os.path.isdir(path) else path  # False for a name that no folder can have
    sealed = read_sealed(path, SPACE)
    header, arrays = sealed.header, sealed.arrays
    try:
        stacks = {data["name"]: _restore(data, arrays) for data in header["stacks"]}
        about = header["about"] if sealed.old else header["facts"]
        facts = facts_from_json(about, form=1 if sealed.old else 2) if about else None
        gauges = tuple(from_json(GaugeRow, _with_nan(row), "gauges") for row in header.get("gauges", []))
        model, of, project, gauge = (from_json(str, header[name], name) for name in ("model", "of", "project", "gauge"))
        return Space(
            model, of, project, gauge, from_json(int, header["dims"], "dims"), stacks, facts, str(header.get("held_out", "")), gauges
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise SPACE.damaged(path, f"{type(error).__name__}: {error}") from error


def _with_nan(row: dict[str, Any]) -> dict[str, Any]:
    return {name: float("nan") if value is None else value for name, value in row.items()}


def _restore(data: dict[str, Any], arrays: dict[str, np.ndarray]) -> SpaceStack:
    prefix = data["name"]
    query_tokens = _tokens_from_json(data["query_tokens"])
    linear = vectors = None
    if f"{prefix}.linear.query" in arrays:
        linear = LinearProjections(**{name: arrays[key] for name in LINEAR if (key := f"{prefix}.linear.{name}") in arrays})
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


def _tokens_from_json(data: dict[str, Any]) -> SpaceTokens:
    return SpaceTokens(tuple(TokenizedText.from_json(text) for text in data["texts"]), tuple(tuple(tags) for tags in data["tags"]))
