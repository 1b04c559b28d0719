"""The one description of an analysis' work that every engine runs: shards in, mergeable sums out."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Generic, Protocol, Self, TypeVar

from eyeline.models.model import Model


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
    """The sums of one shard. tokens: how many the model read, for the progress."""

    sums: AnySums
    tokens: int


class Work(ABC, Generic[AnyShard, AnySums]):
    """What an analysis does with a model, on any engine. It is pickled for workers, so it holds options, not the model."""

    @abstractmethod
    def open(self, model: Model) -> Callable[[AnyShard], Folded[AnySums]]:
        """Called once in each process that folds: the function that folds a shard with this model."""


@dataclass(frozen=True)
class ShardOutcome(Generic[AnySums]):
    """A shard that is done. sums: None where none of its documents is left; skipped: document → why it is not in the sums."""

    sums: AnySums | None
    skipped: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Status:
    """How far an engine is, since the session began. alive: workers that have opened the model; None: there are none."""

    documents: int
    tokens: int
    alive: int | None


ReportStatus = Callable[[Status], None]
