"""Heads in a plane, near each other where they attend alike, with the behaviour of each (figure 6 of Clark et al. 2019)."""

from __future__ import annotations

import numpy as np

from eyeline.heads import HeadRef
from eyeline.measures.plane import metric_mds
from eyeline.results.table import Table

#: A later rule overwrites an earlier one: (behaviour, table, column or target, above).
RULES = (
    ("next", "average_attention", "next", 0.5),
    ("previous", "average_attention", "previous", 0.5),
    ("broad", "entropy", "all", 3.8),
    ("first", "average_attention", "first", 0.6),  # for models without [CLS]; otherwise the next rule overwrites it
    ("cls", "average_attention", "cls", 0.6),
    ("sep", "average_attention", "sep", 0.6),
    ("punctuation", "average_attention", "punctuation", 0.6),
)
NO_BEHAVIOUR, NOT_MEASURED = "none of these", "not measured"


def head_map(distances: Table, tables: dict[str, Table], seed: int, stack: str = "") -> tuple[Table, float]:
    """Metric MDS of the square of distances: (layer, head, x, y, behaviour) and its stress.

    stress is Kruskal's stress-1, 0 for a perfect layout: √(Σ (d − δ)² / Σ d²), with d the distances in the plane and δ those between heads.
    """
    heads = [HeadRef.parse(name)[1:] for name in map(str, distances.columns["head"])]
    square = np.array([distances[name] for name in map(str, distances.columns["head"])], dtype=np.float64)  # [head, head]
    points = lay_out(square, seed)  # [head, 2]
    behaviours = behaviour_of(heads, tables, stack)
    table = Table(
        {
            "layer": [layer for layer, _ in heads],
            "head": [head for _, head in heads],
            "x": points[:, 0].tolist(),
            "y": points[:, 1].tolist(),
            "behaviour": behaviours,
        }
    )
    return table, stress(square, points)


def lay_out(square: np.ndarray, seed: int) -> np.ndarray:
    """[head, head] → [head, 2] by metric MDS, the best of 5 starts."""
    if len(square) < 3:
        return np.stack([np.arange(len(square)) * (square[0, -1] if len(square) else 0.0), np.zeros(len(square))], -1)
    return metric_mds((square + square.T) / 2, seed)


def stress(square: np.ndarray, points: np.ndarray) -> float:
    """How far the distances between points are from those between the heads, from 0 (equal): √( Σ (d − δ)² / Σ d² )."""
    in_plane = np.linalg.norm(points[:, None] - points[None], axis=-1)  # [head, head]
    return float(np.sqrt(((in_plane - square) ** 2).sum() / max((in_plane**2).sum(), 1e-30)))


def behaviour_of(heads: list[tuple[int, int]], tables: dict[str, Table], stack: str = "") -> list[str]:
    """The last rule that each head meets; a rule whose table or target is not there is met by none. Without any table, not measured."""
    measured = any(name in tables for _, name, _, _ in RULES)
    behaviours = dict.fromkeys(heads, NO_BEHAVIOUR if measured else NOT_MEASURED)
    for behaviour, name, column, above in RULES:
        table = tables.get(name)
        if table is None:
            continue
        for row in table.rows():
            value = row.get(column) if name == "entropy" else row["mean"] if row["target"] == column else None
            key = (int(row["layer"]), int(row["head"]))
            if isinstance(value, float) and value > above and key in behaviours and row.get("stack", stack) in (stack, ""):
                behaviours[key] = behaviour
    return [behaviours[head] for head in heads]
