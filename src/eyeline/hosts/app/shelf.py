"""What was computed, kept while there is room: bounded, the least used goes first.

Our own rather than Streamlit's caches, which any visitor may empty for all by a message to the server.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TypeVar

Kept = TypeVar("Kept")


class Shelf:
    """Values by key. A key holds everything that the value was made of, so nobody is handed what another asked for.

    Whoever asks for what is just being made waits for it; others do not.

    >>> shelf = Shelf(room=10)
    >>> [shelf.get(key, lambda: key * 6, len) for key in "aba"]
    ['aaaaaa', 'bbbbbb', 'aaaaaa']
    >>> shelf.held
    6
    """

    def __init__(self, room: int) -> None:
        self.room, self.held = room, 0
        self._kept: OrderedDict[Hashable, tuple[object, int]] = OrderedDict()
        self._making: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, make: Callable[[], Kept], size: Callable[[Kept], int]) -> Kept:
        """The value of this key, made where it is not there."""
        with self._lock:
            making = self._making.setdefault(key, threading.Lock())
        try:
            with making:
                with self._lock:
                    if key in self._kept:
                        self._kept.move_to_end(key)
                        return self._kept[key][0]  # type: ignore[return-value]
                made = make()
                self._put(key, made, size(made))
                return made
        finally:
            with self._lock:
                self._making.pop(key, None)

    def _put(self, key: Hashable, made: object, weight: int) -> None:
        with self._lock:
            if key not in self._kept and weight <= self.room:
                self._kept[key] = (made, weight)
                self.held += weight
                while self.held > self.room:
                    self.held -= self._kept.popitem(last=False)[1][1]
