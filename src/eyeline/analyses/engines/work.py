"""The one description of an analysis' work that every engine runs: shards in, mergeable sums out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar


class Shard(Protocol):
    """Some documents that are folded together. How a corpus is cut into shards does not depend on the engine or its workers."""

    @property
    def n_documents(self) -> int: ...

    def alone(self) -> Sequence[tuple[str, Self]]:
        """Each document by its name, as a shard of its own: to find one that breaks its worker."""
        ...

    def without(self, names: Collection[str]) -> Self:
        """The shard without the documents of these names."""
        ...


AnyShard = TypeVar("AnyShard", bound=Shard)
AnySums = TypeVar("AnySums")


@dataclass(frozen=True)
class Folded(Generic[AnySums]):
    """What one shard adds up to. tokens: that the model read, for the progress."""

    sums: AnySums
    tokens: int


class Work(ABC, Generic[AnyShard, AnySums]):
    """What the workers of an analysis do. It is pickled, so it holds the name of a model, not the model."""

    @abstractmethod
    def open(self) -> Callable[[AnyShard], Folded[AnySums]]:
        """Called once in each worker: open the model, and give the function that folds a shard."""


@dataclass(frozen=True)
class ShardOutcome(Generic[AnySums]):
    """A shard that is done. skipped: document → why it is not in the sums."""

    sums: AnySums
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """How far all workers together are, since the session began. alive: workers that have opened the model."""

    documents: int
    tokens: int
    alive: int


ReportStatus = Callable[[Status], None]
