"""A bounded cache that visitors share: the least recently used value goes first.

Our own rather than Streamlit's caches, which any visitor may empty for all by a message to the server.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

from eyeline.hosts.app.sharing.turns import TURNS

Value = TypeVar("Value")


class Cache:
    """Values by key. A key holds everything that the value depends on, so nobody gets the value of another request.

    A thread that requests a value that is being computed waits for it; requests for other keys do not wait.

    >>> cache = Cache(room=10)
    >>> [cache.get(key, lambda: key * 6, len) for key in "aba"]
    ['aaaaaa', 'bbbbbb', 'aaaaaa']
    >>> cache.used
    6
    """

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0
        self._values: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._computing: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """The value of this key, computed where it is missing. Pages of others are drawn meanwhile."""
        with self._lock:
            if key in self._values:
                return self._used(key)  # type: ignore[return-value]
            computing = self._computing.setdefault(key, threading.Lock())
        try:
            with TURNS.given_up(), computing:
                with self._lock:
                    if key in self._values:
                        return self._used(key)  # type: ignore[return-value]
                value = compute()
                self._put(key, value, size(value))
                return value
        finally:
            with self._lock:
                self._computing.pop(key, None)

    def _used(self, key: Hashable) -> object:
        self._values.move_to_end(key)
        return self._values[key][0]

    def holds(self, key: Hashable) -> bool:
        """Whether the value of this key is here, so that `get` does not compute it."""
        with self._lock:
            return key in self._values

    def _put(self, key: Hashable, value: object, size: int) -> None:
        with self._lock:
            if key not in self._values and size <= self.room:
                self._values[key] = (value, size)
                self.used += size
                while self.used > self.room:
                    self.used -= self._values.popitem(last=False)[1][1]
