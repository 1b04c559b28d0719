"""What visitors share: the turns in which pages are drawn, computations, and a bounded cache."""

from __future__ import annotations

import itertools
import threading
import time
from collections import Counter, OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, TypeVar

from streamlit.runtime.scriptrunner import StopException

Item = TypeVar("Item")

Value = TypeVar("Value")


# ---- Whose page is drawn next: by visitor, then in the order of arrival
#
# Python runs one thread at a time. Pages that are drawn one after the other are done sooner, on average, than all at once.


#: Seconds for which one page may hold up all others, and for which a third page of one visitor waits for the two before it.
PATIENCE = 10.0

#: Pages of one visitor that are drawn or computed at the same time, and pages of one visitor that wait or are drawn.
AT_ONCE_EACH, MOST_EACH = 2, 16

#: Seconds of the processor that a page which has not ended is expected to take; seconds after which what a visitor took counts half.
EXPECTED, HALF_LIFE = 0.1, 10.0


class TooManyPagesError(Exception):
    """A visitor has more pages waiting than the app keeps for one visitor."""


@dataclass(eq=False)
class PageTurn:
    """One drawing of one page.

    visitor, session   whose it is; a session draws one page: a later one replaces it
    number             in the order of arrival
    behind             how many other pages its visitor had asked for
    active             it has been called, and has not ended
    late               it has waited so long that it no longer waits for the other pages of its visitor
    replaced           the visitor has asked for another page in this session: nobody waits for this one
    """

    visitor: str
    session: str
    number: int
    behind: int = 0
    active: bool = False
    late: bool = False
    replaced: bool = False
    called: threading.Event = field(default_factory=threading.Event)


class Turns:
    """One page at a time: that of the visitor whose pages took the least time lately; of equals, the page that came first.

    So nobody who asks for little waits for those who ask for much, however many pages these ask for. What a visitor took is halved every
    HALF_LIFE seconds, so that everybody has a turn. A page that gives its turn up for a while keeps its place.
    """

    def __init__(self, patience: float = PATIENCE) -> None:
        self._patience, self._numbers, self._lock = patience, itertools.count(), threading.Lock()
        self._pages: dict[str, list[PageTurn]] = {}  # of each visitor: those that wait or are drawn
        self._taken: dict[str, tuple[float, float]] = {}  # of each visitor: seconds of the processor, and when they were counted
        self._waiting: list[PageTurn] = []
        self._holder: PageTurn | None = None
        self._since = 0.0  # when the holder was called
        self._own = threading.local()

    @contextmanager
    def turn(self, visitor: str = "", session: str = "") -> Iterator[None]:
        """Wait for the turn of a page, and hold it in this block. Within the turn of another page this is a part of that one."""
        if self.page() is not None:
            yield
            return
        page = self._own.page = self._arrive(visitor, session)
        begun = time.thread_time()
        try:
            self._take(page)
            yield
        finally:
            self._own.page = None
            self._leave(page, time.thread_time() - begun)

    @contextmanager
    def while_others_draw(self) -> Iterator[None]:
        """Others draw within this block, which computes or waits for another thread. Nothing changes for a thread without a turn."""
        page = self.page()
        if page is None or self._holder is not page:
            yield
            return
        with self._lock:
            self._call_next()
        try:
            yield
        finally:
            self._take(page)

    def page(self) -> PageTurn | None:
        """The page that this thread draws."""
        page: PageTurn | None = getattr(self._own, "page", None)
        return page

    def order(self, page: PageTurn) -> tuple[float, int]:
        """Pages are called, and their texts computed, in this order."""
        return self._seconds(page.visitor) + EXPECTED * page.behind, page.number

    def _seconds(self, visitor: str) -> float:
        """What a visitor's pages took lately."""
        seconds, counted = self._taken.get(visitor, (0.0, 0.0))
        return seconds * 0.5 ** ((time.monotonic() - counted) / HALF_LIFE) if seconds else 0.0

    def _arrive(self, visitor: str, session: str) -> PageTurn:
        with self._lock:
            own = self._pages.setdefault(visitor, [])
            behind = len(own)
            for other in own:
                if session and other.session == session and not other.replaced:
                    other.replaced = True
                    if other in self._waiting and not other.active:  # it never began: this one has its place
                        behind = other.behind
                        self._waiting.remove(other)
                        other.called.set()
            if len(own) >= MOST_EACH:
                raise TooManyPagesError
            page = PageTurn(visitor, session, next(self._numbers), behind)
            own.append(page)
            return page

    def _leave(self, page: PageTurn, seconds: float) -> None:
        with self._lock:
            own = self._pages[page.visitor]
            own.remove(page)
            if not own:
                del self._pages[page.visitor]
            self._taken[page.visitor] = self._seconds(page.visitor) + seconds, time.monotonic()
            for visitor in [visitor for visitor in self._taken if self._seconds(visitor) < EXPECTED / 100]:
                del self._taken[visitor]
            if self._holder is page or self._holder is None:  # its end may be what another page of this visitor waits for
                self._call_next()

    def _take(self, page: PageTurn) -> None:
        """Wait until this page is called. A page that was replaced before it began ends here."""
        with self._lock:
            page.called.clear()
            if page.replaced and not page.active:
                raise StopException
            self._waiting.append(page)
            if self._holder is None:
                self._call_next()
        while not page.called.wait(self._patience):
            with self._lock:
                page.late = True
                if self._holder is None or (self._next() is page and time.monotonic() - self._since >= self._patience):
                    self._call_next()  # where one page takes too long, the next is drawn beside it
        if page.replaced and not page.active:
            raise StopException

    def _next(self) -> PageTurn | None:
        """The page whose turn is next."""
        busy = Counter({visitor: sum(page.active for page in pages) for visitor, pages in self._pages.items()})
        ready = (page for page in self._waiting if page.active or page.late or busy[page.visitor] < AT_ONCE_EACH)
        return min(ready, key=self.order, default=None)

    def _call_next(self) -> None:
        """Give the turn to the next page, where there is one."""
        self._holder = page = self._next()
        if page is not None:
            self._waiting.remove(page)
            self._since, page.active = time.monotonic(), True
            page.called.set()


#: The turns of this app.
TURNS = Turns()


# ---- Who computes next: no more computations at once than there are cores, and those that wait for the same model share one pass


#: A text waits for no text that is more than so many times as long: texts of one pass take as long as the longest.
MOST_LONGER = 2.0


@dataclass(eq=False)
class _Request:
    """An item of a group that waits for its value. taken: a thread computes it now."""

    group: Hashable
    item: Any
    size: int
    number: int
    page: PageTurn | None
    taken: bool = False
    value: Future[Any] = field(default_factory=Future)


class Slots:
    """At most `at_once` computations at a time, in the order of the pages that need them. One visitor never has all the slots.

    `together` computes all waiting items of one group in one call, as long as their sizes add up to at most `room`. Nobody waits for others
    to arrive: the items of a call are those that came while all slots were taken.
    """

    def __init__(self, at_once: int, room: int, turns: Turns = TURNS) -> None:
        self._at_once, self._room, self._turns = at_once, room, turns
        self._running: list[str | None] = []  # the visitor of each computation
        self._waiting: list[_Request] = []  # taken ones are not in it
        self._numbers = itertools.count()
        self._changed = threading.Condition()

    @contextmanager
    def slot(self) -> Iterator[None]:
        """Wait until a slot is free, and hold it in this block."""
        own = self._request(object(), None, 0)
        self._next(own)
        try:
            yield
        finally:
            self._release(own)

    def together(self, group: Hashable, item: Item, size: int, compute: Callable[[Sequence[Item]], Sequence[Value]]) -> Value:
        """The value of one item. `compute` takes items of this group and returns a value for each; another thread may do it.

        Where a call for several items fails, each is computed alone, so that nobody gets the error of another.
        """
        own = self._request(group, item, size)
        while batch := self._next(own):
            try:
                _compute(batch, compute)
            finally:
                self._release(own, batch)
        value: Value = own.value.result()
        return value

    def _request(self, group: Hashable, item: object, size: int) -> _Request:
        with self._changed:
            own = _Request(group, item, size, next(self._numbers), self._turns.page())
            self._waiting.append(own)
        return own

    def _order(self, request: _Request) -> tuple[float, int]:
        return (0.0, request.number) if request.page is None else self._turns.order(request.page)

    def _may_run(self, request: _Request) -> bool:
        """Whether its visitor may have one slot more. Work without a page is not a visitor's."""
        most = self._at_once if request.page is None else max(1, self._at_once - 1)
        return self._running.count(_visitor(request)) < most

    def _is_next(self, own: _Request) -> bool:
        if len(self._running) >= self._at_once or not self._may_run(own):
            return False
        return own is min(filter(self._may_run, self._waiting), key=self._order)

    def _next(self, own: _Request) -> list[_Request]:
        """The requests that this thread computes next, with a slot held, its own first; empty when its own has a value."""
        with self._changed:
            self._changed.wait_for(lambda: own.value.done() or (not own.taken and self._is_next(own)))
            if own.value.done():
                return []
            batch, used = [own], own.size
            others = (each for each in self._waiting if each is not own and each.group == own.group and self._may_run(each))
            for request in sorted(others, key=self._order):
                if (used := used + request.size) > self._room:
                    break
                sizes = [request.size, *(each.size for each in batch)]
                if max(sizes) <= MOST_LONGER * min(sizes):
                    batch.append(request)
                else:
                    used -= request.size
            for request in batch:
                request.taken = True
                self._waiting.remove(request)
            self._running.append(_visitor(own))
            self._changed.notify_all()
            return batch

    def _release(self, own: _Request, batch: Sequence[_Request] = ()) -> None:
        """End a computation. What it left without a value, because its thread was stopped, waits again for the other threads."""
        with self._changed:
            self._running.remove(_visitor(own))
            for request in batch:
                if request is not own and not request.value.done():
                    request.taken = False
                    self._waiting.append(request)
            self._changed.notify_all()


def _visitor(request: _Request) -> str | None:
    return None if request.page is None else request.page.visitor


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


# ---- A cache: the least recently used value goes first, of the visitor who has the most there
#
# Our own rather than Streamlit's caches, which any visitor may empty for all by a message to the server.


@dataclass(frozen=True)
class _Kept:
    """A value, its size, and the visitor for whom it was computed; "" where it was for nobody's page."""

    value: object
    size: int
    visitor: str


class Cache:
    """Values by key. A key holds everything that the value depends on, so nobody gets the value of another request.

    A thread that requests a value that is being computed waits for it; requests for other keys do not wait. The newest value stays even
    where it is larger than the room, so that its visitor does not wait for it again at each click.

    >>> cache = Cache(room=10)
    >>> [cache.get(key, lambda: key * 6, len) for key in "aba"]
    ['aaaaaa', 'bbbbbb', 'aaaaaa']
    >>> cache.used
    6
    """

    def __init__(self, room: int) -> None:
        self.room, self.used = room, 0
        self._kept: OrderedDict[Hashable, _Kept] = OrderedDict()  # the least recently used first
        self._computing: dict[Hashable, threading.Lock] = {}
        self._lock = threading.Lock()

    def get(self, key: Hashable, compute: Callable[[], Value], size: Callable[[Value], int]) -> Value:
        """The value of this key, computed where it is missing. Pages of others are drawn meanwhile."""
        with self._lock:
            if key in self._kept:
                return self._used(key)  # type: ignore[return-value]
            computing = self._computing.setdefault(key, threading.Lock())
        try:
            with TURNS.while_others_draw(), computing:
                with self._lock:
                    if key in self._kept:
                        return self._used(key)  # type: ignore[return-value]
                value = compute()
                self._put(key, value, size(value))
                return value
        finally:
            with self._lock:
                self._computing.pop(key, None)

    def _used(self, key: Hashable) -> object:
        self._kept.move_to_end(key)
        return self._kept[key].value

    def holds(self, key: Hashable) -> bool:
        """Whether the value of this key is here, so that `get` does not compute it."""
        with self._lock:
            return key in self._kept

    def _put(self, key: Hashable, value: object, size: int) -> None:
        page = TURNS.page()
        with self._lock:
            if key in self._kept:
                return
            self._kept[key] = _Kept(value, size, "" if page is None else page.visitor)
            self.used += size
            while self.used > self.room and len(self._kept) > 1:
                self._drop(key)

    def _drop(self, newest: Hashable) -> None:
        """Remove the least recently used value of the visitor who has the most here, but not the newest."""
        sizes: Counter[str] = Counter()
        for kept in self._kept.values():
            sizes[kept.visitor] += kept.size
        others = [key for key in self._kept if key != newest]
        largest = max(sizes[self._kept[key].visitor] for key in others)
        self.used -= self._kept.pop(next(key for key in others if sizes[self._kept[key].visitor] == largest)).size
