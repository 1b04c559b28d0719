"""The numbers of a space of queries and keys: what is read from and written to its file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eyeline.errors import TraceError, nearest
from eyeline.results.facts import RunFacts
from eyeline.results.space.gauge_row import GaugeRow
from eyeline.results.space.stack import SpaceStack
from eyeline.results.table import Table
from eyeline.text.named_pairs import NamedPair, PairsGiven, named_pairs

#: What the points are: the queries and keys of a head in one picture, its value vectors, or all heads and layers in one space.
KINDS = ("queries-keys", "shared", "values")
#: How far the scores of a shared space are the model's own, head by head: the columns of tables/space_shared.csv.
AGREEMENT = ("score_correlation", "score_error")
#: The numbers of every head, in the order of tables/space.csv.
FACTS = (
    "scale", "correlation_before", "correlation_after", "top1_full", "top5_full",
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
    facts: RunFacts | None = field(default=None, repr=False)
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
