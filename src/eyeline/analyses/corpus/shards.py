"""Groups of documents through a model into statistics: in the process of a run, or as the shards of its workers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from eyeline.analyses.corpus.agreement import can_stream, is_rechecked, recheck
from eyeline.analyses.corpus.batch import GROUP, Batch, BatchSize, roles_of
from eyeline.analyses.corpus.fold import fold
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.engines.work import Folded, Work
from eyeline.analyses.prepare import Preparation
from eyeline.capture.collect import Sides
from eyeline.measures.kernels import one_pass
from eyeline.models.model import Model
from eyeline.text.corpora.corpus import Document


@dataclass(frozen=True)
class ReadGroup:
    """The texts of a group of documents, and counts of what happened to its documents."""

    texts: list[Sides]
    counts: Counter[str]


class Groups:
    """Reads groups of documents and folds their batches.

    streamed   whether maps are never formed; None: to be tried on the first batch
    one_pass   whether the output of a layer and the numbers of its rows come from one pass; None: to be tried on the first batch
    size       of a batch; None: what the model's device holds
    """

    def __init__(
        self,
        model: Model,
        preparation: Preparation,
        layers: Mapping[str, tuple[int, ...]],
        seed: int,
        streamed: bool | None,
        size: BatchSize | None = None,
    ) -> None:
        self.model, self.preparation, self.layers, self.seed, self.streamed = model, preparation, layers, seed, streamed
        self.size = BatchSize.of(model) if size is None else size
        self.one_pass: bool | None = None if one_pass.may_apply(model.hf.device.type, model.hf.dtype) else False
        self.roles = roles_of(model.tokenizer) if model.tokenizer is not None else {}

    def read(self, documents: Sequence[Document]) -> ReadGroup:
        """The texts of a group."""
        self.preparation.counts = Counter()
        texts = self.preparation.read_many(documents)
        return ReadGroup(texts, self.preparation.counts)

    def batches(self, texts: Sequence[Sides], statistics: Sequence[Statistic]) -> list[list[int]]:
        """Which of the texts go through the model together."""
        limits = (statistic.batch_tokens(self.model) for statistic in statistics)
        tokens = min([self.size.tokens, *(limit for limit in limits if limit is not None)])
        return self.model.in_batches(texts, tokens, self.size.texts)

    def fold(self, sides: Sequence[Sides], statistics: Sequence[Statistic], group: int, batch_index: int) -> None:
        """Add one batch, of this index within its group."""
        batch = Batch(tuple(sides), self.roles, self.model.hf.device, self.layers)
        from_rows = [statistic for statistic in statistics if statistic.from_rows]
        if self.streamed is not False and self.one_pass is None:
            self.one_pass = can_stream(self.model, batch, from_rows, self.layers, one_pass=True)
            self.streamed = self.streamed or self.one_pass or None
        if self.streamed is None:
            self.streamed = can_stream(self.model, batch, from_rows, self.layers)
        elif self.streamed and is_rechecked(self.seed, group, batch_index):
            recheck(self.model, batch, from_rows, self.layers, one_pass=bool(self.one_pass))
        fold(self.model, batch, statistics, self.layers, streamed=self.streamed, one_pass=bool(self.one_pass))


@dataclass(frozen=True)
class DocumentShard:
    """A group of documents.

    group      its index in the corpus
    streamed   whether maps are never formed; None: the worker tries it
    """

    group: int
    documents: tuple[Document, ...]
    streamed: bool | None

    @property
    def n_documents(self) -> int:
        return len(self.documents)

    def alone(self) -> Sequence[tuple[str, DocumentShard]]:
        return [(name, replace(self, documents=(document,))) for name, document in self._named()]

    def without(self, names: Collection[str]) -> DocumentShard:
        return replace(self, documents=tuple(document for name, document in self._named() if name not in names))

    def _named(self) -> list[tuple[str, Document]]:
        return [(f"document {self.group * GROUP + i + 1} (line {each.line})", each) for i, each in enumerate(self.documents)]


@dataclass(frozen=True)
class ShardSums:
    """states: of each statistic, in their order; counts: of what was read."""

    states: tuple[Mapping[str, np.ndarray], ...]
    counts: Mapping[str, int]
    streamed: bool | None


@dataclass(frozen=True)
class CorpusWork(Work[DocumentShard, ShardSums]):
    """Everything that a worker needs to know of a run. statistics: the class of each, and its options."""

    statistics: tuple[tuple[type[Statistic], Mapping[str, object]], ...]
    layers: Mapping[str, tuple[int, ...]]
    max_tokens: int | None
    window: bool
    seed: int

    def open(self, model: Model) -> Callable[[DocumentShard], Folded[ShardSums]]:
        prepared = [kind(**options) for kind, options in self.statistics]
        for statistic in prepared:
            statistic.prepare(model, self.seed)
        groups = Groups(model, Preparation(model, self.max_tokens, self.window), self.layers, self.seed, None)

        def fold_shard(shard: DocumentShard) -> Folded[ShardSums]:
            groups.streamed = shard.streamed
            statistics = [statistic.fresh() for statistic in prepared]
            read = groups.read(shard.documents)
            texts = read.texts
            for index, indices in enumerate(groups.batches(texts, statistics)):
                groups.fold([texts[i] for i in indices], statistics, shard.group, index)
            states = tuple(statistic.state() for statistic in statistics)
            return Folded(ShardSums(states, dict(read.counts), groups.streamed), read.counts["tokens"])

        return fold_shard
