"""The space of queries and keys: what every head's picture is drawn from. Read, searched and drawn without torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from eyeline.errors import TraceError, nearest
from eyeline.results.facts import RunFacts, present
from eyeline.results.folder import write_parts
from eyeline.results.run import Run
from eyeline.results.space.file import ENDING, FILE, save_space
from eyeline.results.space.gauge_row import GaugeRow
from eyeline.results.space.tokens import SpaceTokens
from eyeline.results.table import Table
from eyeline.storage.names import as_path

if TYPE_CHECKING:
    from eyeline.capture.trace import Trace
    from eyeline.results.space.ask import HeadPicture, Placed, SearchResult

#: What the points are: the queries and keys of a head in one picture, its value vectors, or all heads and layers in one space.
KINDS = ("queries-keys", "values", "shared")
#: How far the scores of a shared space are the model's own, head by head: the columns of tables/space_shared.csv.
AGREEMENT = ("score_correlation", "score_error")
#: The numbers of every head, in the order of tables/space.csv.
FACTS = (
    "scale", "correlation_before", "correlation_after", "top1_full", "top5_full",
    "top1_projected", "top5_projected", "rank_correlation", "entropy", "kl",
    "top1_held_out", "top5_held_out", "rank_held_out",
)  # fmt: skip
#: So many keys of each query are kept with their weights, for lines.
TOP = 8
#: A weight a is kept in a map as the byte round(√a · 255), the scale of the views' encoding.
LEVELS = 255


@dataclass(frozen=True)
class LinearProjections:
    """The projections of every head, which put any token into the picture: x = q · query + offset, y = k · key + key_offset.

    query       [layer, head, dim, dims]
    key         [layer, head, dim, dims]; where the points are values: v · key + key_offset
    offset      [layer, head, dims]
    key_offset  [layer, head, dims]; None: no offset
    """

    query: np.ndarray
    key: np.ndarray
    offset: np.ndarray
    key_offset: np.ndarray | None = None


@dataclass(frozen=True)
class Vectors:
    """The vectors the pictures are made of, as the model used them (after rotary embedding), scale of the scores not included.

    queries  [layer, head, query, dim]; keys, values [layer, key head, key, dim]. Head h looks with key head h · key heads // heads.
    scales   what q·k is multiplied with, a number a layer
    """

    queries: np.ndarray
    keys: np.ndarray
    scales: tuple[float, ...]
    values: np.ndarray | None = None


@dataclass(frozen=True)
class SpaceStack:
    """One tower of attention (encoder, decoder or cross): a picture for every head.

    layers, heads   their numbers in the model; every array below begins [layer, head], in this order
    query_tokens    what the rows of `queries` are; key_tokens what the rows of `keys` are (the same object but in cross attention)
    queries         [layer, head, query, dims], float32; None where the points are values
    keys            [layer, head, key, dims], float32; where the points are values: the values
    query_norms     [layer, head, query], float32: the length of the vector behind the point; None where the points are values
    key_norms       [layer, head, key], float32
    top_keys        [layer, head, query, TOP], int32: the most attended keys of each query, as rows of `keys`, the strongest first;
                    −1 where its text has fewer (or a query sees fewer)
    top_weights     [layer, head, query, TOP], float32: their attention, exact; 0 where there is none
    maps            [layer, head, Σ_t queries(t) · keys(t)], uint8: every weight, text after text, row after row, as round(√a · 255);
                    None where that would be larger than the run allowed. `map_starts` says where a text begins, `map(…)` reads one
    facts           name → [layer, head], float: the columns of tables/space.csv (FACTS); nan where a number has no meaning
    linear          the projections into the pictures, where the projection is fitted, freed or pca (not in the lifted gauge)
    vectors         the vectors themselves, where they were kept: needed for `project_head`, `search` and nothing that is drawn
    pairs           some pairs of a query and a key of some heads, for the figure of dot product against distance: columns of one table
    """

    name: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    query_tokens: SpaceTokens
    key_tokens: SpaceTokens
    queries: np.ndarray | None = field(repr=False)
    keys: np.ndarray = field(repr=False)
    query_norms: np.ndarray | None = field(repr=False)
    key_norms: np.ndarray = field(repr=False)
    top_keys: np.ndarray = field(repr=False)
    top_weights: np.ndarray = field(repr=False)
    maps: np.ndarray | None = field(repr=False)
    facts: Mapping[str, np.ndarray] = field(repr=False)
    linear: LinearProjections | None = field(default=None, repr=False)
    vectors: Vectors | None = field(default=None, repr=False)
    pairs: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)

    def __post_init__(self) -> None:
        heads, n_query, n_key = (len(self.layers), len(self.heads)), len(self.query_tokens), len(self.key_tokens)
        wanted = {
            "queries": n_query,
            "keys": n_key,
            "query_norms": n_query,
            "key_norms": n_key,
            "top_keys": n_query,
            "top_weights": n_query,
        }
        for what, rows in wanted.items():
            array = getattr(self, what)
            if array is not None and array.shape[:3] != (*heads, rows):
                raise TraceError(f"The {what} of the {self.name} have shape {list(array.shape)}.", f"Needed: {[*heads, rows]} and so on.")
        if self.maps is not None and self.maps.shape != (*heads, int(self.map_starts[-1])):
            raise TraceError(f"Maps of shape {list(self.maps.shape)}.", f"Needed: {[*heads, int(self.map_starts[-1])]}.")

    @cached_property
    def map_starts(self) -> np.ndarray:
        """[text + 1]: the map of text t is maps[…, map_starts[t] : map_starts[t + 1]], [query, key] row after row."""
        sizes = np.diff(self.query_tokens.starts) * np.diff(self.key_tokens.starts)
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)

    def map(self, layer: int, head: int, text: int) -> np.ndarray | None:
        """[query, key] of one text, within (b + ¼) / 255² of the model's weights; None where maps were not kept. layer, head: numbers."""
        if self.maps is None:
            return None
        index = self.index_of(layer, head)
        n_query, n_key = len(self.query_tokens.texts[text]), len(self.key_tokens.texts[text])
        steps = self.maps[index][self.map_starts[text] : self.map_starts[text + 1]].reshape(n_query, n_key)
        return np.asarray(np.square(steps.astype(np.float32) / LEVELS))

    def index_of(self, layer: int, head: int) -> tuple[int, int]:
        """Where the arrays hold this layer and head."""
        for number, choices, what in ((layer, self.layers, "Layer"), (head, self.heads, "Head")):
            if number not in choices:
                raise TraceError(f"{what} {number} is not in this space.", f"It has {', '.join(map(str, choices))}.")
        return self.layers.index(layer), self.heads.index(head)


@dataclass(frozen=True)
class Space:
    """The queries and keys (or values) of a corpus, a picture for every head, and how far each picture can be trusted.

    model    the model's name
    of       "queries-keys", "values" or "shared": queries and keys on the same axes for all heads and layers
    project  fitted, freed, pca, umap or tsne; gauge: none, attentionviz, searched or lifted (fitted and freed need none); dims: 2 or 3
    stacks   encoder, decoder, cross: those that the model has, in this order
    facts    model, corpus, options, counts, how far attention recomputed from the gauged vectors is off; None where it was made by hand
    gauges   every gauge beside none, of pictures by PCA, UMAP or t-SNE; () elsewhere
    held_out how the fidelity shown was held out: background (fitted on the built-in paragraphs alone), texts, queries; "" where it was not
    """

    model: str
    of: str
    project: str
    gauge: str
    dims: int
    stacks: Mapping[str, SpaceStack]
    facts: RunFacts | None = field(default=None, repr=False)
    held_out: str = ""
    gauges: tuple[GaugeRow, ...] = field(default=(), repr=False)
    _pictures: dict[Any, HeadPicture] = field(default_factory=dict, init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if self.of not in KINDS:
            raise TraceError(f"A space of {self.of!r}.", nearest(self.of, KINDS))
        if not self.stacks:
            raise TraceError("A space without any attention.", "Give at least one stack.")

    def __repr__(self) -> str:
        stacks = ", ".join(f"{s.name} {len(s.layers)} x {len(s.heads)} heads, {len(s.key_tokens):,} tokens" for s in self.stacks.values())
        return f"<space of {self.of} of {self.model}: {stacks}; {self.project} in {self.dims} dimensions>"

    @property
    def only(self) -> SpaceStack:
        """The one stack of a model that has one; otherwise an error that lists the choices."""
        if len(self.stacks) > 1:
            raise TraceError(f"{self.model} has {len(self.stacks)} kinds of attention.", f"Say which: {', '.join(self.stacks)}.")
        return next(iter(self.stacks.values()))

    def stack(self, name: str | None = None) -> SpaceStack:
        """The stack of that name; the only one where there is no name."""
        if name is None:
            return self.only
        if name not in self.stacks:
            raise TraceError(f"{self.model} has no {name} attention in this space.", f"It has: {', '.join(self.stacks)}.")
        return self.stacks[name]

    def table(self, names: tuple[str, ...] = FACTS) -> Table:
        """A row for each head: layer, head and these facts; a column `stack` before them where there are several."""
        rows = [
            {"stack": stack.name, "layer": layer, "head": head}
            | {name: float(stack.facts[name][i, j]) if name in stack.facts else float("nan") for name in names}
            for stack in self.stacks.values()
            for i, layer in enumerate(stack.layers)
            for j, head in enumerate(stack.heads)
        ]
        return Table.from_rows(rows, ("layer", "head", *names) if len(self.stacks) < 2 else ("stack", "layer", "head", *names))

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
                tables["space_pairs" if len(self.stacks) == 1 else f"space_pairs_{stack.name}"] = Table(columns)
        return Run(present(self.facts, "model and corpus"), tables)

    def project_head(
        self, layer: int, head: int, how: str, *, gauge: str = "attentionviz", stack: str | None = None, seed: int = 0
    ) -> HeadPicture:
        """One head by pca, umap or tsne, with its fidelity: made when it is first asked for, then kept. Values need no gauge."""
        from eyeline.results.space.ask import project_head

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
        from eyeline.results.space.ask import search

        return search(self, token, side, layer, head, text, stack, top)

    def transform(self, trace: Trace, *, stack: str | None = None) -> Placed:
        """New text in the same pictures: `space.transform(model.trace("…"))`. For spaces that were fitted, freed or made by PCA."""
        from eyeline.results.space.ask import transform_trace

        return transform_trace(self, trace, stack)

    def save(self, path: str | Path, *, vectors: bool = True) -> Path:
        """Write the space, whole or not at all; the path. `el.open` reads it back, without torch.

        path      FILE.safetensors for the space alone; any other name is a folder, for its tables and facts too
        vectors   without them the file is some ten times smaller, and can be looked at but not searched or projected anew
        """
        path = as_path(path)
        if path.suffix == ENDING:
            save_space(self, path, vectors=vectors)
        else:
            write_parts(path, self.run().sections, {FILE: lambda file: save_space(self, file, vectors=vectors)})
        return path
