"""Computations take turns at the cores; what waits for the same model is computed together, and nobody gets the error of another."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor

import pytest

from eyeline.show.app.kit.sharing import Slots

LONG = 60.0  # seconds; no test waits so long


class Busy:
    """One slot, which a computation holds until `end` is set; `arrive` starts requests one after the other, in this order."""

    def __init__(self, room: int) -> None:
        self.slots, self.end, self.calls = Slots(1, room), threading.Event(), []
        self.threads = ThreadPoolExecutor(30)
        held = threading.Event()
        self.threads.submit(self._hold, held)
        assert held.wait(LONG)

    def _hold(self, held: threading.Event) -> None:
        with self.slots.slot():
            held.set()
            assert self.end.wait(LONG)

    def arrive(self, *items: str, group: str = "a", compute: Callable[[Sequence[str]], list[str]] | None = None) -> list[Future[str]]:
        results = []
        for item in items:
            before = len(self.slots._waiting)
            results.append(self.threads.submit(self.slots.together, group, item, len(item), compute or self.upper))
            while len(self.slots._waiting) == before:
                threading.Event().wait(0.001)
        return results

    def upper(self, items: Sequence[str]) -> list[str]:
        self.calls.append(list(items))
        return [item.upper() for item in items]

    def results(self, *futures: Future[str]) -> list[str]:
        self.end.set()
        return [future.result(LONG) for future in futures]


def test_what_waits_is_computed_in_one_call_in_the_order_of_arrival():
    busy = Busy(room=100)
    assert busy.results(*busy.arrive("one", "two", "six")) == ["ONE", "TWO", "SIX"]
    assert busy.calls == [["one", "two", "six"]]


def test_one_call_takes_no_more_than_its_room_but_always_one_item():
    busy = Busy(room=6)
    assert busy.results(*busy.arrive("one", "two", "six", "a very long one")) == ["ONE", "TWO", "SIX", "A VERY LONG ONE"]
    assert sorted(busy.calls) == [["a very long one"], ["one", "two"], ["six"]]


def test_groups_are_never_computed_together():
    busy = Busy(room=100)
    results = busy.arrive("one", group="a") + busy.arrive("two", group="b") + busy.arrive("six", group="a")
    assert busy.results(*results) == ["ONE", "TWO", "SIX"]
    assert sorted(busy.calls) == [["one", "six"], ["two"]]


def test_an_item_that_fails_fails_alone():
    busy = Busy(room=100)

    def compute(items: Sequence[str]) -> list[str]:
        if "bad" in items:
            raise ValueError(f"{len(items)} items")
        return busy.upper(items)

    good, bad, also = busy.arrive("one", "bad", "six", compute=compute)
    assert busy.results(good, also) == ["ONE", "SIX"]
    with pytest.raises(ValueError, match="1 items"):
        bad.result(LONG)


def test_no_more_computations_run_at_once_than_there_are_slots():
    slots, running, most, lock = Slots(2, room=1), 0, 0, threading.Lock()

    def compute(items: Sequence[int]) -> list[int]:
        nonlocal running, most
        with lock:
            running += 1
            most = max(most, running)
        threading.Event().wait(0.002)
        with lock:
            running -= 1
        return [item * item for item in items]

    with ThreadPoolExecutor(20) as threads:
        assert list(threads.map(lambda n: slots.together("a", n, 1, compute), range(60))) == [n * n for n in range(60)]
    assert most == 2


def test_what_a_stopped_thread_leaves_is_computed_by_another():
    class Stopped(BaseException):
        pass

    busy, stop = Busy(room=100), threading.Event()

    def compute(items: Sequence[str]) -> list[str]:
        if not stop.is_set():
            stop.set()
            raise Stopped
        return busy.upper(items)

    results = busy.arrive("one", "two", compute=compute)
    busy.end.set()
    ends = [future.exception(LONG) for future in results]
    assert sum(isinstance(end, Stopped) for end in ends) == 1
    assert [future.result() for future, end in zip(results, ends, strict=True) if end is None] in (["ONE"], ["TWO"])
