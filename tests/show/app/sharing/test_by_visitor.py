"""Nobody who asks for little waits for those who ask for much: turns, slots and caches are shared by visitor."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

import pytest
from streamlit.runtime.scriptrunner import StopException

from eyeline.show.app.kit.sharing import AT_ONCE_EACH, MOST_EACH, TURNS, Cache, Slots, TooManyPagesError, Turns

LONG = 60.0  # seconds; no test waits so long


class Crowd:
    """Pages that wait for one that is drawn until `end` is set. order: whose pages were drawn, in turn."""

    def __init__(self, turns: Turns | None = None) -> None:
        self.turns = turns or Turns(LONG)
        self.end, self.order, self.threads, self.stopped = threading.Event(), [], [], []
        began = threading.Event()
        self._start(lambda: self._draw("first", "", began.set, lambda: self.end.wait(LONG)))
        assert began.wait(LONG)

    def _start(self, work: Callable[[], object]) -> None:
        thread = threading.Thread(target=work, daemon=True)
        self.threads.append(thread)
        thread.start()

    def _draw(self, visitor: str, session: str, *acts: Callable[[], object]) -> None:
        try:
            with self.turns.turn(visitor, session):
                self.order.append(visitor)
                for act in acts:
                    act()
        except StopException:
            self.stopped.append(visitor)

    def come(self, visitor: str, session: str = "", *acts: Callable[[], object]) -> None:
        """A page that waits when this returns; one of a session that has a page already replaces it."""
        before = next(self.turns._numbers)
        self._start(lambda: self._draw(visitor, session, *acts))
        until(lambda: any(page.number > before for page in self.turns._waiting))

    def all_drawn(self) -> list[str]:
        self.end.set()
        for thread in self.threads:
            thread.join(LONG)
            assert not thread.is_alive()
        return self.order[1:]


def until(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    while not condition():
        waiting.wait(0.001)


def burn() -> None:
    """Take some time of the processor."""
    end = time.thread_time() + 0.02
    while time.thread_time() < end:
        pass


def test_a_visitor_with_one_page_waits_for_one_page_of_another_who_has_many():
    crowd = Crowd()
    for _ in range(6):
        crowd.come("greedy")
    crowd.come("honest")
    order = crowd.all_drawn()
    assert order.index("honest") == 1
    assert order.count("greedy") == 6


def test_whoever_took_least_time_lately_is_next_and_of_equals_who_came_first():
    turns = Turns(LONG)
    with turns.turn("greedy"):
        burn()
    crowd = Crowd(turns)
    for visitor in ("greedy", "one", "two"):
        crowd.come(visitor)
    assert crowd.all_drawn() == ["one", "two", "greedy"]


def test_what_a_visitor_took_is_forgotten_in_time(monkeypatch):
    turns = Turns(LONG)
    with turns.turn("greedy"):
        burn()
    now = time.monotonic()
    monkeypatch.setattr("eyeline.show.app.kit.sharing.time.monotonic", lambda: now + 3600)
    assert turns._seconds("greedy") < 1e-9
    with turns.turn("other"):
        pass
    assert not turns._taken, "the memory of visitors who are gone does not grow"
    assert not turns._pages


def test_a_later_page_of_a_session_takes_the_place_of_one_that_waits():
    crowd = Crowd()
    crowd.come("me", "session")
    crowd.come("other")
    for _ in range(5):
        crowd.come("me", "session")
        assert [page.visitor for page in crowd.turns._waiting].count("me") == 1
    assert crowd.all_drawn() == ["other", "me"]
    assert crowd.stopped == ["me"] * 5


def test_a_visitor_who_has_too_many_pages_waiting_is_refused_another_and_others_are_not():
    crowd = Crowd()
    for _ in range(MOST_EACH):
        crowd.come("greedy")
    with pytest.raises(TooManyPagesError), crowd.turns.turn("greedy"):
        pass
    crowd.come("honest")
    assert crowd.all_drawn().count("greedy") == MOST_EACH


def test_no_more_pages_of_one_visitor_are_computed_at_once_than_two():
    """A page that computes has given its turn up: others draw meanwhile, but not all the pages of this visitor."""
    turns, goes_on, computing = Turns(LONG), threading.Event(), []

    def compute() -> None:
        with turns.while_others_draw():
            computing.append(True)
            goes_on.wait(LONG)

    crowd = Crowd(turns)
    for _ in range(5):
        crowd.come("greedy", "", compute)
    crowd.come("honest")
    crowd.end.set()
    until(lambda: "honest" in crowd.order)
    until(lambda: turns._holder is None)
    assert len(computing) == AT_ONCE_EACH
    goes_on.set()
    assert len(crowd.all_drawn()) == 6


def test_a_part_of_a_page_is_drawn_in_the_turn_of_the_page():
    turns = Turns(LONG)
    with turns.turn("me"):
        page = turns.page()
        with turns.turn("me"):
            assert turns.page() is page
        assert turns._holder is page
    assert turns._holder is None


def test_one_visitor_never_has_every_slot():
    slots, goes_on, running, done = Slots(2, room=1, turns=TURNS), threading.Event(), [], []

    def page(visitor: str) -> None:
        with TURNS.turn(visitor), TURNS.while_others_draw(), slots.slot():
            running.append(visitor)
            if visitor == "greedy":
                goes_on.wait(LONG)
            done.append(visitor)

    greedy = [threading.Thread(target=page, args=("greedy",), daemon=True) for _ in range(2)]
    for thread in greedy:
        thread.start()
    until(lambda: running == ["greedy"] and len(slots._waiting) == 1)
    page("honest")
    assert done == ["honest"]
    goes_on.set()
    for thread in greedy:
        thread.join(LONG)
    assert done == ["honest", "greedy", "greedy"]


def test_a_short_text_does_not_wait_for_a_long_one_in_its_pass():
    slots, end, calls, held = Slots(1, room=1000), threading.Event(), [], threading.Event()

    def hold() -> None:
        with slots.slot():
            held.set()
            end.wait(LONG)

    def compute(items: list[str]) -> list[str]:
        calls.append([len(item) for item in items])
        return items

    threads = [threading.Thread(target=hold, daemon=True)]
    threads[0].start()
    held.wait(LONG)
    for size in (10, 500, 12, 450):
        before = len(slots._waiting)
        threads.append(threading.Thread(target=slots.together, args=("a", "x" * size, size, compute), daemon=True))
        threads[-1].start()
        until(lambda before=before: len(slots._waiting) > before)
    end.set()
    for thread in threads:
        thread.join(LONG)
    assert sorted(calls) == [[10, 12], [500, 450]]


def test_a_cache_is_emptied_of_the_values_of_whoever_has_most_there():
    cache = Cache(100)
    with TURNS.turn("honest"):
        cache.get("mine", lambda: bytes(20), len)
    with TURNS.turn("greedy"):
        for number in range(30):
            cache.get(number, lambda: bytes(30), len)
    assert cache.holds("mine")
    assert cache.holds(29)
    assert cache.used <= 100
