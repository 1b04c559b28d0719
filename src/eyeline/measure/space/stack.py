"""A stack of a space: a picture for every head, with the attention, the vectors and the numbers behind it; and the whole space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from eyeline.errors import TraceError, nearest
from eyeline.measure.runs.table import Table
from eyeline.measure.space.options import DISTANCES, KINDS, WHERE, SpaceFacts
from eyeline.text.named_pairs import NamedPair, PairsGiven, named_pairs
from eyeline.text.tokenized import TokenizedText
from eyeline.words import Words

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
class StackHeads:
    """Which heads of one stack, and the tokens of all texts.

    layers, heads   their numbers in the model
    query_tokens    what queries are of; key_tokens what keys are of (the same object but in cross attention)
    """

    name: str
    layers: tuple[int, ...]
    heads: tuple[int, ...]
    query_tokens: SpaceTokens
    key_tokens: SpaceTokens

    @property
    def same_heads(self) -> dict[str, Any]:
        """What another record of these heads begins with."""
        return {name: getattr(self, name) for name in StackHeads.__dataclass_fields__}

    def rows(self, text: int) -> tuple[slice, slice]:
        """The rows of this text among the queries and among the keys."""
        q, k = self.query_tokens.starts, self.key_tokens.starts
        return slice(int(q[text]), int(q[text + 1])), slice(int(k[text]), int(k[text + 1]))


@dataclass(frozen=True)
class SpaceStack(StackHeads):
    """One tower of attention (encoder, decoder or cross): a picture for every head.

    Every array begins [layer, head], in the order of `layers` and `heads`; rows are in the order of the tokens.

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
    shifts          [layer, head, dim], float32: what the gauge added to every key, a of (k + a) / c; None in the lifted gauge, where it is
                    no such shift, and of values. The fact `shift` is its length, `scale` is c
    pairs           some pairs of a query and a key of some heads, for the figure of dot product against distance: columns of one table
    pairs_distance  which distance they have, and where it is measured (as in GaugeRow)
    """

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
    shifts: np.ndarray | None = field(default=None, repr=False)
    pairs: Mapping[str, np.ndarray] = field(default_factory=dict, repr=False)
    pairs_distance: tuple[str, str] = (DISTANCES[0], WHERE[0])

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


# ---- The record of a space: what is read from and written to its file


#: How far the scores of a shared space are the model's own, head by head: the columns of tables/space_shared.csv.
AGREEMENT = ("score_correlation", "score_error")

#: The numbers of every head, in the order of tables/space.csv.
FACTS = (
    "scale", "shift", "correlation_before", "correlation_after", "top1_full", "top5_full",
    "top1_projected", "top5_projected", "rank_correlation", "entropy", "kl",
    "top1_held_out", "top5_held_out", "rank_held_out",
)  # fmt: skip


@dataclass(frozen=True)
class SpaceRecord:
    """The queries and keys (or values) of a corpus, a picture for every head, and how far each picture can be trusted.

    model    the model's name
    of       "queries-keys", "values" or "shared": queries and keys on the same axes for all heads and layers
    project  fitted, freed, pca, umap or tsne; gauge: none, attentionviz, searched or lifted (fitted and freed need none); dims: 2 or 3
    stacks   encoder, decoder, cross: those that the model has, in this order
    facts    model, corpus, options, counts, how far attention recomputed from the gauged vectors is off; None where it was made by hand
    gauges   every gauge beside none, of pictures by PCA, UMAP or t-SNE; () elsewhere
    held_out how the fidelity shown was held out: background (fitted on the built-in paragraphs alone), texts, queries; picture: attention
             had no part in the picture, which was measured as it is; "": no fidelity is shown
    """

    model: str
    of: str
    project: str
    gauge: str
    dims: int
    stacks: Mapping[str, SpaceStack]
    facts: SpaceFacts | None = field(default=None, repr=False)
    held_out: str = ""
    gauges: tuple[GaugeRow, ...] = field(default=(), repr=False)

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


def pairs_in_space(of: str, given: PairsGiven) -> tuple[NamedPair, ...]:
    """The pairs to be drawn in red in a space of this kind. Values have no queries and keys: naming a pair of them is an error."""
    pairs = named_pairs(given)
    if pairs and of == "values":
        raise TraceError("Red pairs in a space of values.", "Pairs are of a query and a key: leave them out.")
    return pairs


# ---- The tokens behind the points


@dataclass(frozen=True)
class SpaceTokens:
    """The tokens of one side (queries or keys) of all texts, one after the other: point i is token `position[i]` of text `text[i]`.

    texts   the texts themselves, in corpus order: their tokens, words, special tokens
    tags    the part of speech of each token of each text, "" where it has none (special tokens); () where the corpus does not say
    """

    texts: tuple[TokenizedText, ...]
    tags: tuple[tuple[str, ...], ...] = ()

    def __post_init__(self) -> None:
        if self.tags and [len(tags) for tags in self.tags] != [len(text) for text in self.texts]:
            raise TraceError("The parts of speech do not cover the tokens one to one.", "Give one for each token of each text, or none.")

    def __len__(self) -> int:
        return int(self.starts[-1])

    @cached_property
    def starts(self) -> np.ndarray:
        """[text + 1]: the points of text t are starts[t] … starts[t + 1] − 1."""
        return np.concatenate([[0], np.cumsum([len(text) for text in self.texts])]).astype(np.int64)

    @cached_property
    def text(self) -> np.ndarray:
        """[point]: the index of its text."""
        return np.repeat(np.arange(len(self.texts)), np.diff(self.starts))

    @cached_property
    def position(self) -> np.ndarray:
        """[point]: its position in its text, from 0."""
        return np.asarray(np.arange(len(self)) - self.starts[self.text])

    @cached_property
    def strings(self) -> tuple[str, ...]:
        """The token of each point, as it is shown."""
        return tuple(token for text in self.texts for token in text.tokens)

    @cached_property
    def words(self) -> tuple[str, ...]:
        """The whole word that each point is (a piece of); of a special token, the token."""
        return tuple(
            token if word is None else text.word_texts[word]
            for text in self.texts
            for token, word in zip(text.tokens, text.words, strict=True)
        )

    @cached_property
    def special(self) -> np.ndarray:
        """[point]: whether the tokeniser added it."""
        return np.array([special for text in self.texts for special in text.special], dtype=bool)

    @cached_property
    def tag(self) -> tuple[str, ...]:
        """The part of speech of each point; () where the corpus does not say."""
        return tuple(tag for tags in self.tags for tag in tags)


# ---- One gauge beside no gauge


@dataclass(frozen=True)
class GaugeRow:
    """How dot product and distance correlate over some heads, as the model has its vectors and in the gauge; −1 is best.

    stack      encoder, decoder or cross
    gauge      attentionviz, searched or lifted
    distance   euclidean or cosine
    where      full: in all dimensions; plane: in the PCA plane (or space) of the picture
    before, after   means over heads
    heads      how many heads were tried, spread over the model; worse: in how many the gauge is worse than none
    tokens     of the first texts, on which they were tried; on the same heads and texts, space.csv has the same numbers
    """

    stack: str
    gauge: str
    distance: str
    where: str
    before: float
    after: float
    heads: int
    worse: int
    tokens: int = 0


#: The columns of a table of pairs that say which distance they have, and where: those of GaugeRow.
PAIRS_DISTANCE = ("distance", "where")


def pairs_distance(table: Table) -> tuple[str, str]:
    """Which distance a table of pairs has, and where; tables without these columns have the Euclidean distance."""
    named = all(name in table.columns for name in PAIRS_DISTANCE) and len(table)
    return tuple(str(table[name][0]) for name in PAIRS_DISTANCE) if named else (DISTANCES[0], WHERE[0])  # type: ignore[return-value]


def gauge_rows(table: Table) -> tuple[GaugeRow, ...]:
    """The rows of tables/space_gauges.csv."""
    return tuple(GaugeRow(**{name: row[name] for name in GaugeRow.__dataclass_fields__}) for row in table.rows())  # type: ignore[arg-type]


#: Of the table of gauges in words.
COLUMNS = ("gauge", "distance", "where", "before", "after", "worse")


@dataclass(frozen=True)
class WordTable:
    """A table ready for display: its title, its explanation, the titles of its columns, and its cells, row by row."""

    title: str
    about: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


def gauges_table(rows: Sequence[GaugeRow], words: Words) -> WordTable:
    """The rows of `space.gauges` in words; where there are several stacks, each row names its own."""
    several = len({row.stack for row in rows}) > 1
    cells = []
    for row in rows:
        gauge = words.name("gauge", row.gauge)
        cells.append((
            f"{gauge} ({words.name('stack', row.stack)})" if several else gauge,
            words.name("distance", row.distance),
            words.name("where", row.where),
            *(f"{number:.2f}".replace("-", "−") for number in (row.before, row.after)),
            words("report.gauges.worse", worse=row.worse, heads=row.heads),
        ))  # fmt: skip
    heads, tokens = max(row.heads for row in rows), max(row.tokens for row in rows)
    about = words("report.table.space_gauges_about", heads=words.count("heads", heads), tokens=words.count("tokens", tokens))
    return WordTable(
        words("report.table.space_gauges"), about, tuple(words(f"report.gauges.column.{name}") for name in COLUMNS), tuple(cells)
    )


# ---- Which fidelity a reader is shown
# Only one that was measured on attention that had no part in the picture. A picture that can place other tokens (fitted, freed, or PCA
# in a gauge that is a shift and a scale) is cross-validated. A picture that cannot (UMAP, t-SNE, the lifted gauge, a shared space) is
# measured as it is, where attention had no part in it; else no fidelity is shown.


#: Nearest key, nearest five, rank correlation: on attention that the fit did not see, and in the picture as it is.
HELD_OUT = ("top1_held_out", "top5_held_out", "rank_held_out")

IN_PICTURE = ("top1_projected", "top5_projected", "rank_correlation")

#: Gauges that are found by means of attention.
SEEING_GAUGES = ("attentionviz", "searched")

#: How the fidelity was held out, where it is that of texts or tokens that had no part in the picture.
UNSEEN = ("background", "texts", "queries")


def is_cross_validated(of: str, project: str, gauge: str) -> bool:
    """Whether such a picture can place tokens that had no part in it."""
    return of == "queries-keys" and (project in ("fitted", "freed") or (project == "pca" and gauge != "lifted"))


def is_measured_as_it_is(of: str, project: str, gauge: str) -> bool:
    """Whether such a picture was made without attention, and cannot place other tokens."""
    return of != "values" and not is_cross_validated(of, project, gauge) and gauge not in SEEING_GAUGES
