"""Who computes next: no more computations at once than there are cores, and those that wait for the same model share one pass."""

from __future__ import annotations

import threading
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

Item = TypeVar("Item")
Value = TypeVar("Value")


@dataclass(eq=False)
class _Request:
    """An item of a group that waits for its value. taken: a thread computes it now."""

    group: Hashable
    item: Any
    size: int
    taken: bool = False
    value: Future[Any] = field(default_factory=Future)


class Slots:
    """At most `at_once` computations at a time.

    `together` computes all waiting items of one group in one call, as long as their sizes add up to at most `room`. Nobody waits for others
    to arrive: the items of a call are those that came while all slots were taken.
    """

    def __init__(self, at_once: int, room: int) -> None:
        self._at_once, self._room = at_once, room
        self._running = 0
        self._waiting: list[_Request] = []  # in the order of arrival; taken ones are not in it
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait until a slot is free, and hold it in this block."""
        with self._changed:
            self._changed.wait_for(lambda: self._running < self._at_once)
            self._running += 1
        try:
            yield
        finally:
            self._release()

    def together(self, group: Hashable, item: Item, size: int, compute: Callable[[Sequence[Item]], Sequence[Value]]) -> Value:
        """The value of one item. `compute` takes items of this group and returns a value for each; another thread may do it.

        Where a call for several items fails, each is computed alone, so that nobody gets the error of another.
        """
        own = _Request(group, item, size)
        with self._changed:
            self._waiting.append(own)
        while batch := self._next(own):
            try:
                _compute(batch, compute)
            finally:
                self._release(batch)
        value: Value = own.value.result()
        return value

    def _next(self, own: _Request) -> list[_Request]:
        """The requests that this thread computes next, with a slot held; empty when its own has a value."""
        with self._changed:
            self._changed.wait_for(lambda: own.value.done() or (not own.taken and self._running < self._at_once))
            if own.value.done():
                return []
            same = [request for request in self._waiting if request.group == own.group]
            batch, used = same[:1], same[0].size
            for request in same[1:]:
                if (used := used + request.size) > self._room:
                    break
                batch.append(request)
            for request in batch:
                request.taken = True
                self._waiting.remove(request)
            self._running += 1
            return batch

    def _release(self, batch: Sequence[_Request] = ()) -> None:
        """End a computation. What it left without a value, because its thread was stopped, waits again for the other threads."""
        with self._changed:
            self._running -= 1
            for request in batch:
                if not request.value.done():
                    request.taken = False
                    self._waiting.append(request)
            self._changed.notify_all()


def _compute(batch: Sequence[_Request], compute: Callable[[Sequence[Any]], Sequence[Any]]) -> None:
    """Give each request its value or its own error."""
    try:
        values = compute([request.item for request in batch])
    except Exception as error:  # noqa: BLE001 - raised again in the thread whose item this is
        if len(batch) == 1:
            batch[0].value.set_exception(error)
            return
        for request in batch:
            _compute([request], compute)
        return
    for request, value in zip(batch, values, strict=True):
        request.value.set_result(value)
