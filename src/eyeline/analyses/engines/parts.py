"""Parts of a list as shards: the texts of an analysis in the batches in which they go through the model, whatever the engine."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

Item = TypeVar("Item")


@dataclass(frozen=True)
class Part(Generic[Item]):
    """Some items of a list.

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
