"""Whose page is drawn next.

Python runs one thread at a time. Pages that are drawn one after the other are done sooner, on average, than all at once.
"""

from __future__ import annotations

import heapq
import itertools
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

#: Seconds that a page waits for its turn at most. After that it is drawn beside others, so that one slow page does not hold up all.
PATIENCE = 10.0


@dataclass(order=True)
class _Ticket:
    """number: the order of arrival. called: set when it is this one's turn."""

    number: int
    called: threading.Event = field(default_factory=threading.Event, compare=False)


class Turns:
    """One page at a time, in the order of arrival. A page that gives its turn up for a while comes before those that arrived later."""

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience, self._numbers, self._lock = patience, itertools.count(), threading.Lock()
        self._waiting: list[_Ticket] = []
        self._taken = False
        self._own = threading.local()

    @contextmanager
    def turn(self) -> Iterator[None]:
        """Wait for the turn of this thread, and hold it in this block."""
        self._own.number = next(self._numbers)
        self._own.holds = self._take(self._own.number)
        try:
            yield
        finally:
            self._give()

    @contextmanager
    def given_up(self) -> Iterator[None]:
        """Others draw within this block, which computes or waits for another thread. Nothing changes for a thread without a turn."""
        if not getattr(self._own, "holds", False):
            yield
            return
        self._give()
        try:
            yield
        finally:
            self._own.holds = self._take(self._own.number)

    def _take(self, number: int) -> bool:
        """Whether the turn came in time."""
        with self._lock:
            if not self._taken:
                self._taken = True
                return True
            ticket = _Ticket(number)
            heapq.heappush(self._waiting, ticket)
        if ticket.called.wait(self._patience):
            return True
        with self._lock:
            if ticket.called.is_set():  # called at the last moment
                return True
            self._waiting.remove(ticket)
            heapq.heapify(self._waiting)
        return False

    def _give(self) -> None:
        """End the turn of this thread, where it holds one, and call the next."""
        if not self._own.holds:
            return
        self._own.holds = False
        with self._lock:
            if self._waiting:
                heapq.heappop(self._waiting).called.set()
            else:
                self._taken = False


#: The turns of this app.
TURNS = Turns()
