"""One stack of a space: a picture for every head, with the attention, the vectors and the numbers behind it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from eyeline.errors import TraceError
from eyeline.results.space.tokens import SpaceTokens

#: How many keys of each query are kept with their weights, for lines.
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
    scales   what q·k is multiplied with, one number per layer
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
