"""The random choice behind every `limit`: one function, so that the same limit and seed choose the same items in every analysis."""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from typing import TypeVar

from eyeline.errors import Advice, TextError

T = TypeVar("T")


def sample_indices(n_items: int, limit: int | None, seed: int, what: str = "documents") -> Sequence[int]:
    """The indices of `limit` of n_items items, drawn without replacement and put in ascending order; all of them where limit is None.

    >>> sample_indices(6, 3, seed=0), sample_indices(2, 3, seed=0), sample_indices(2, None, seed=0)
    ([0, 3, 5], range(0, 2), range(0, 2))
    """
    check_limit(limit, what)
    if limit is None or limit >= n_items:
        return range(n_items)
    return sorted(random.Random(seed).sample(range(n_items), limit))  # noqa: S311 - a seeded choice, not a secret


def check_limit(limit: int | None, what: str = "documents") -> None:
    """Refuse a limit below 1."""
    if limit is not None and limit < 1:
        raise TextError(f"A limit of {limit} {what}.", Advice("Give limit=1 or more.", "Give --limit 1 or more."))


def sample(items: Sequence[T], limit: int | None, seed: int, what: str = "documents") -> list[T]:
    """The items at those indices."""
    return [items[index] for index in sample_indices(len(items), limit, seed, what)]


def sample_stream(items: Iterable[T], limit: int, seed: int) -> list[T]:
    """`limit` of the items of a stream of unknown length, in their order, each with the same chance (algorithm R; Vitter 1985).

    One reading, and no more than `limit` items in memory.

    >>> sample_stream("abcdef", 3, seed=0), sample_stream("ab", 3, seed=0)
    (['b', 'c', 'f'], ['a', 'b'])
    """
    draw = random.Random(seed)  # noqa: S311 - a seeded choice, not a secret
    kept: list[tuple[int, T]] = []
    for index, item in enumerate(items):
        if len(kept) < limit:
            kept.append((index, item))
        elif (slot := draw.randrange(index + 1)) < limit:
            kept[slot] = (index, item)
    return [item for _, item in sorted(kept, key=lambda pair: pair[0])]
