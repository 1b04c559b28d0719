"""Pages are drawn one after the other, in the order in which visitors came; nobody waits for ever."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress

import pytest

from eyeline.show.app.kit.sharing import TURNS, Cache, Turns
from eyeline.show.app.kit.texts import as_file

LONG = 60.0  # seconds; no test waits so long


def started(*work: Callable[[], None]) -> list[threading.Thread]:
    threads = [threading.Thread(target=each, daemon=True) for each in work]
    for thread in threads:
        thread.start()
    return threads


def joined(threads: list[threading.Thread]) -> None:
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


def until(condition: Callable[[], bool]) -> None:
    waiting = threading.Event()
    while not condition():
        waiting.wait(0.001)


def test_no_two_pages_are_drawn_at_once_and_all_are_drawn():
    turns, drawn, active = Turns(LONG), [], []

    def draw(name: int) -> None:
        for _ in range(3):
            with turns.turn():
                active.append(name)
                assert active == [name]
                drawn.append(name)
                active.remove(name)

    joined(started(*(lambda name=name: draw(name) for name in range(20))))
    assert sorted(drawn) == sorted(list(range(20)) * 3)


def test_a_page_that_gives_its_turn_up_comes_before_those_that_arrived_later():
    turns, order = Turns(LONG), []
    computed, goes_on = threading.Event(), threading.Event()

    def first() -> None:
        with turns.turn():
            with turns.while_others_draw():
                computed.wait(LONG)
            order.append("first")

    def second() -> None:
        with turns.turn():
            order.append("second")
            computed.set()
            goes_on.wait(LONG)

    def third() -> None:
        with turns.turn():
            order.append("third")

    threads = started(first)
    until(lambda: turns._holder is None)  # given up
    threads += started(second)
    until(lambda: order == ["second"])
    threads += started(third)
    until(lambda: len(turns._waiting) == 2)
    goes_on.set()
    joined(threads)
    assert order == ["second", "first", "third"]


def test_a_page_that_fails_ends_its_turn():
    turns = Turns(LONG)
    with pytest.raises(ZeroDivisionError), turns.turn(), turns.while_others_draw():
        raise ZeroDivisionError
    with turns.turn():
        assert turns._holder is not None


def test_a_page_waits_only_so_long_and_the_turn_is_not_lost():
    turns, held, ends = Turns(0.01), threading.Event(), threading.Event()

    def slow() -> None:
        with turns.turn():
            held.set()
            ends.wait(LONG)

    threads = started(slow)
    held.wait(LONG)
    with turns.turn(), turns.while_others_draw():  # drawn beside the slow one, without a turn
        pass
    ends.set()
    joined(threads)
    assert turns._holder is None


def test_two_pages_that_need_the_same_value_do_not_wait_for_each_other():
    """One computes it and wants its turn back; the other has the turn and waits for the value."""
    cache, computing, goes_on, results = Cache(10), threading.Event(), threading.Event(), []

    def compute() -> str:
        computing.set()
        goes_on.wait(LONG)
        return "x"

    def draw() -> None:
        with TURNS.turn():
            results.append(cache.get("key", compute, len))

    threads = started(draw)
    computing.wait(LONG)
    threads += started(draw)
    until(lambda: TURNS._holder is None)  # the second waits for the value, without its turn
    goes_on.set()
    joined(threads)
    assert results == ["x", "x"]


def test_others_draw_while_an_uploaded_file_is_read():
    with TURNS.turn():
        with as_file("large.txt", b"a text") as path:
            assert path.read_bytes() == b"a text"
            assert TURNS._holder is None
        assert TURNS._holder is not None


def test_a_visitor_who_leaves_while_waiting_or_computing_keeps_nobody_waiting():
    """Streamlit ends such a page by an error in its thread, at the next word that the page wants to show."""
    turns, drawn = Turns(LONG), []

    def leaves(how: str) -> None:
        with suppress(ConnectionError), turns.turn():
            if how == "computing":
                with turns.while_others_draw():
                    raise ConnectionError
            raise ConnectionError

    def stays() -> None:
        with turns.turn():
            drawn.append(True)

    joined(started(*(lambda how=how: leaves(how) for how in ("waiting", "computing") * 5), *[stays] * 5))
    assert len(drawn) == 5
    assert turns._holder is None
    assert not turns._waiting
