"""The work of an analysis as every engine runs it: shards in, sums out that can be merged."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Protocol, Self, TypeVar

if TYPE_CHECKING:
    from eyeline.models.model import Model


class Shard(Protocol):
    """Some documents that are computed together. How a corpus is cut into shards does not depend on the engine or its workers."""

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
class ShardResult(Generic[AnySums]):
    """A shard that is done.

    sums      of its documents; None where none is left
    tokens    how many the model read, for the progress
    skipped   document → why it is not in the sums
    """

    sums: AnySums | None
    tokens: int = 0
    skipped: Mapping[str, str] = field(default_factory=dict)


class Work(ABC, Generic[AnyShard, AnySums]):
    """What an analysis does with a model, on any engine. It is pickled for workers, so it holds options, not the model."""

    @abstractmethod
    def open(self, model: Model) -> Callable[[AnyShard], ShardResult[AnySums]]:
        """Called once in each process that computes: the function that computes a shard with this model."""


@dataclass(frozen=True)
class Status:
    """How far an engine is, since the session began. alive: workers that have opened the model; None: there are none."""

    documents: int
    tokens: int
    alive: int | None


ReportStatus = Callable[[Status], None]


# ---- Parts of a list as shards


Item = TypeVar("Item")


@dataclass(frozen=True)
class Part(Generic[Item]):
    """Some items of a list, such as the texts of one batch.

    indices   of each item in the list
    names     of each item, for the message where it breaks its worker; all names of the list differ
    """

    indices: tuple[int, ...]
    items: tuple[Item, ...]
    names: tuple[str, ...]

    @property
    def n_documents(self) -> int:
        return len(self.items)

    def alone(self) -> Sequence[tuple[str, Part[Item]]]:
        return [(name, self._only([position])) for position, name in enumerate(self.names)]

    def without(self, names: Collection[str]) -> Part[Item]:
        return self._only([position for position, name in enumerate(self.names) if name not in names])

    def _only(self, positions: Sequence[int]) -> Part[Item]:
        return Part(
            tuple(self.indices[position] for position in positions),
            tuple(self.items[position] for position in positions),
            tuple(self.names[position] for position in positions),
        )


def parts_of(items: Sequence[Item], batches: Iterable[Sequence[int]], names: Sequence[str] | None = None) -> Iterator[Part[Item]]:
    """A part for each batch of indices.

    names   of the items; those that occur twice get their number; without it, items are "text 1", "text 2" …

    >>> [part.names for part in parts_of("abc", [[2, 0], [1]], ["s1", "s2", "s1"])]
    [('s1, number 3', 's1'), ('s2',)]
    """
    named = _distinct(names) if names is not None else [f"text {index + 1}" for index in range(len(items))]
    for batch in batches:
        yield Part(tuple(batch), tuple(items[index] for index in batch), tuple(named[index] for index in batch))


def _distinct(names: Sequence[str]) -> list[str]:
    seen: set[str] = set()
    distinct: list[str] = []
    for number, name in enumerate(names, 1):
        distinct.append(name if name not in seen else f"{name}, number {number}")
        seen.add(name)
    return distinct
