"""The space of queries and keys: what every head's picture is drawn from. Read, searched and drawn without torch."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.trace import Trace
from eyeline.measure.runs.facts import facts_from_json, facts_to_json, present
from eyeline.measure.runs.run import Run, write_parts
from eyeline.measure.runs.table import Table, heads_of_rows
from eyeline.measure.space.ask import HeadPicture, Placed, SearchResult, project_head, search, transform_trace
from eyeline.measure.space.options import SpaceFacts
from eyeline.measure.space.stack import (
    AGREEMENT,
    HELD_OUT,
    PAIRS_DISTANCE,
    GaugeRow,
    LinearProjections,
    SpaceRecord,
    SpaceStack,
    SpaceTokens,
    Vectors,
)
from eyeline.storage.files import as_path, latest
from eyeline.storage.records import from_json
from eyeline.storage.sealed import FileKind, read_sealed, write_sealed
from eyeline.text.tokenized import TokenizedText

#: Stack, layer, head, projection, gauge and seed of a picture.
PictureKey = tuple[str, int, int, str, str, int]


@dataclass(frozen=True, repr=False)
class Space(SpaceRecord):
    """A space of queries and keys, or values, that can be searched, projected, extended by new text, and saved. Fields: `SpaceRecord`."""

    _pictures: dict[PictureKey, HeadPicture] = field(default_factory=dict, init=False, repr=False, compare=False)

    def run(self) -> Run:
        """The tables of this space with its provenance, to be saved and reported as every run is."""
        tables = {"space": self.table()}
        if self.of == "shared":
            tables["space_shared"] = self.table(AGREEMENT)
        if self.gauges:
            columns_of = {name: [getattr(row, name) for row in self.gauges] for name in GaugeRow.__dataclass_fields__}
            tables["space_gauges"] = Table(columns_of)
        for stack in self.stacks.values():
            if stack.pairs:
                columns = {name: values.tolist() for name, values in stack.pairs.items()}
                n_pairs = len(next(iter(columns.values())))
                columns |= {name: [value] * n_pairs for name, value in zip(PAIRS_DISTANCE, stack.pairs_distance, strict=True)}
                tables["space_pairs" if len(self.stacks) == 1 else f"space_pairs_{stack.name}"] = Table(columns)
        return Run(present(self.facts, "model and corpus"), tables)

    def project_head(
        self, layer: int, head: int, how: str, *, gauge: str = "attentionviz", stack: str | None = None, seed: int = 0
    ) -> HeadPicture:
        """One head by pca, umap or tsne, with its fidelity: computed at first use, then kept. Values need no gauge."""
        key = (stack or self.only.name, layer, head, how, gauge, seed)
        if key not in self._pictures:
            self._pictures[key] = project_head(self, layer, head, how, gauge, stack, seed)
        return self._pictures[key]

    def search(
        self, token: int, side: str, *, layer: int, head: int, text: int | None = None, stack: str | None = None, top: int = 10
    ) -> list[SearchResult]:
        """Across all texts: side="key": the queries that would most attend to it; side="query": the keys it would most attend to.

        token   a row of the space, or with `text` a position in that text. The score is scale · q·(k − mean key), exact.
        """
        return search(self, token, side, layer, head, text, stack, top)

    def transform(self, trace: Trace, *, stack: str | None = None) -> Placed:
        """New text in the same pictures: `space.transform(model.trace("…"))`. For spaces that were fitted, freed or made by PCA or UMAP.

        UMAP's own `transform` does it, among the neighbours of each head's points: seconds a head, and the vectors must have been kept.
        """
        return transform_trace(self, trace, stack)

    def save(self, path: str | Path, *, vectors: bool = True) -> Path:
        """Write the space, whole or not at all; the path. `el.open` reads it back, without torch.

        path      FILE.safetensors for the space alone; any other name is a folder, for its tables and facts too
        vectors   without them the file is some ten times smaller, and can be looked at but not searched or projected again
        """
        path = as_path(path)
        if path.suffix == ENDING:
            save_space(self, path, vectors=vectors)
        else:
            write_parts(path, self.run().sections, {FILE: lambda file: save_space(self, file, vectors=vectors)})
        return path


def check_space(space: object) -> None:
    """Refuse anything else where a view takes a space."""
    if not isinstance(space, Space):
        raise TraceError(
            f"A {type(space).__name__} where a space was expected.", "Compute one: el.space(model, corpus). Or open one: el.open(path)."
        )


# ---- Parts of a space as spaces of their own, and distinct names for two spaces


def head_space(space: Space, head: HeadRef) -> Space:
    """The space of one head alone."""
    i, j = space.stacks[head.stack].index_of(head.layer, head.head)
    return _part(space, head.stack, slice(i, i + 1), slice(j, j + 1))


def layer_space(space: Space, stack: str, layer: int) -> Space:
    """The space of all heads of one layer."""
    i = space.stacks[stack].layers.index(layer)
    return _part(space, stack, slice(i, i + 1), slice(None))


def picture_space(space: Space, picture: HeadPicture) -> Space:
    """The space of one head alone, with the points of another projection."""
    alone = head_space(space, HeadRef(picture.stack, picture.layer, picture.head))
    stack = alone.stacks[picture.stack]
    fidelity = dict(zip(HELD_OUT, (picture.top1, picture.top5, picture.rank_correlation), strict=True))
    facts = {name: np.array([[value]]) for name, value in fidelity.items()} | {"entropy": stack.facts["entropy"]}
    points = {"queries": None if space.of == "values" else picture.queries[None, None], "keys": picture.keys[None, None]}
    changed = replace(stack, facts=facts, **points)  # type: ignore[arg-type]
    return replace(alone, project=picture.project, gauge=picture.gauge, stacks={stack.name: changed}, held_out=picture.held_out)


def _part(space: Space, name: str, layers: slice, heads: slice) -> Space:
    stack = space.stacks[name]

    def cut(array: np.ndarray | None) -> np.ndarray | None:
        return None if array is None else array[layers, heads]

    arrays = {what: cut(getattr(stack, what)) for what in POINTS}
    part = replace(
        stack,
        layers=stack.layers[layers],
        heads=stack.heads[heads],
        facts={fact: values[layers, heads] for fact, values in stack.facts.items()},
        linear=None,
        vectors=None,
        pairs={},
        **arrays,  # type: ignore[arg-type]
    )
    return replace(space, stacks={name: part})


def distinct_names(first: str, second: str) -> tuple[str, str]:
    """The names of two models; numbered where they are the same.

    >>> distinct_names("base", "tuned"), distinct_names("base", "base")
    (('base', 'tuned'), ('base (1)', 'base (2)'))
    """
    return (first, second) if first != second else (f"{first} (1)", f"{second} (2)")


# ---- Spaces on disk
# Safetensors for the arrays, a JSON header for the rest. Written whole or not at all, and read without torch.


SPACE = FileKind(
    "space",
    format=2,
    written_by="A space is written by: eyeline space CORPUS -o FOLDER",
    otherwise="el.open opens traces and spaces.",
)

#: How the name of the file of a space ends, and that file in the folder of its run.
ENDING = ".safetensors"

FILE = f"space{ENDING}"

#: The arrays of a stack: its own, which begin [layer, head]; those of its linear projections; and its vectors.
POINTS = ("queries", "keys", "query_norms", "key_norms", "top_keys", "top_weights", "maps", "shifts")

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
        "pairs_distance": list(stack.pairs_distance),
    }


def _tokens_to_json(tokens: SpaceTokens) -> dict[str, Any]:
    return {"texts": [text.to_json() for text in tokens.texts], "tags": [list(tags) for tags in tokens.tags]}


def open_space(path: str | Path) -> Space:
    """Read a space: its file, or the folder of a run that holds one. Damaged or foreign files are refused by name."""
    path = as_path(path)
    path = latest(path, path / FILE) if os.path.isdir(path) else path  # False for a name that no folder can have
    sealed = read_sealed(path, SPACE)
    header, arrays = sealed.header, sealed.arrays
    try:
        stacks = {data["name"]: _restore(data, arrays) for data in header["stacks"]}
        facts = facts_from_json(header["facts"]).of_kind(SpaceFacts) if header["facts"] else None
        gauges = tuple(from_json(GaugeRow, _with_nan(row), "gauges") for row in header.get("gauges", []))
        model, of, project, gauge = (from_json(str, header[name], name) for name in ("model", "of", "project", "gauge"))
        return Space(
            model, of, project, gauge, from_json(int, header["dims"], "dims"), stacks, facts, str(header.get("held_out", "")), gauges
        )
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise SPACE.damaged(path, f"{type(error).__name__}: {error}") from error


def space_in(folder: Path, run: Run) -> Space | Run:
    """The space in a folder that holds its run alone; the run where its file is missing."""
    return open_space(folder) if latest(folder, folder / FILE).is_file() else run


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
        pairs_distance=from_json(tuple[str, str], data.get("pairs_distance", SpaceStack.pairs_distance), "pairs_distance"),
        **{name: arrays.get(f"{prefix}.{name}") for name in POINTS},  # type: ignore[arg-type]
    )


def _tokens_from_json(data: dict[str, Any]) -> SpaceTokens:
    return SpaceTokens(tuple(TokenizedText.from_json(text) for text in data["texts"]), tuple(tuple(tags) for tags in data["tags"]))


# ---- How far the pictures can be trusted


@dataclass(frozen=True)
class FidelitySummary:
    """Means over heads, and the heads with the largest and the smallest `top1`.

    top1, top5   the share of queries whose most attended key is the nearest, or among the nearest five
    rank         the rank correlation between attention and nearness
    top1_full    `top1` before the projection, in all dimensions
    """

    top1: float
    top5: float
    rank: float
    top1_full: float
    best: HeadRef
    best_top1: float
    worst: HeadRef
    worst_top1: float


def summarise_fidelity(table: Table) -> FidelitySummary | None:
    """The summary of a space's table; None where no head has a fidelity (all heads attend to all keys alike, or the points are values)."""
    top1 = table[HELD_OUT[0]].astype(float)
    if not np.isfinite(top1).any():
        return None
    mean_top1, mean_top5, rank, full = (float(np.nanmean(table[name].astype(float))) for name in (*HELD_OUT, "top1_full"))
    best, worst = int(np.nanargmax(top1)), int(np.nanargmin(top1))
    heads = heads_of_rows(table)
    return FidelitySummary(mean_top1, mean_top5, rank, full, heads[best], float(top1[best]), heads[worst], float(top1[worst]))
