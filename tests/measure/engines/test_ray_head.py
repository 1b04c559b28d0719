"""A head of a Ray cluster that no longer answers is named soon, and one that comes back in time is not."""

from __future__ import annotations

import socket

import pytest

from eyeline import EyelineError
from eyeline.measure.engines import ray_pool as module
from eyeline.measure.engines.ray_pool import RayHead


class Clock:
    """A time that passes only when a test says so."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 0.0
        monkeypatch.setattr(module, "monotonic", lambda: self.now)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    monkeypatch.delenv(module.PATIENCE_OF_RAY, raising=False)
    return Clock(monkeypatch)


@pytest.fixture
def listens(monkeypatch: pytest.MonkeyPatch) -> list[bool]:
    """Whether something listens at the address of the head: the last entry says it. Each connection adds one like it."""
    states = [True]

    def connect(target: tuple[str, int], timeout: float) -> socket.socket:
        assert target == ("10.0.0.1", 6379)
        states.append(states[-1])
        if not states[-1]:
            raise ConnectionRefusedError(111, "Connection refused")
        return socket.socket()

    monkeypatch.setattr(module, "create_connection", connect)
    return states


def test_a_head_that_has_gone_is_named_after_twenty_seconds(clock: Clock, listens: list[bool]):
    head = RayHead("10.0.0.1:6379")
    for clock.now in (3.0, 6.0):
        head.check()
    assert head.answers
    listens.append(False)
    for clock.now in (9.0, 15.0, 25.0):
        head.check()
    assert not head.answers
    clock.now = 27.0
    with pytest.raises(EyelineError, match=r"(?s)10\.0\.0\.1:6379 has gone.*refused.*go on with resume=True"):
        head.check()


def test_a_head_that_comes_back_in_time_is_waited_for(clock: Clock, listens: list[bool]):
    head = RayHead("10.0.0.1:6379")
    for clock.now, is_there in ((5.0, False), (19.0, True), (35.0, False), (38.0, True)):
        listens.append(is_there)
        head.check()
        assert head.answers == is_there


def test_rays_own_variable_says_how_long_a_run_waits(clock: Clock, listens: list[bool], monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv(module.PATIENCE_OF_RAY, "300")
    head = RayHead("10.0.0.1:6379")
    listens.append(False)
    clock.now = 290.0
    head.check()
    clock.now = 301.0
    with pytest.raises(EyelineError, match="has gone"):
        head.check()


def test_the_head_is_not_asked_at_every_turn_of_a_run(clock: Clock, listens: list[bool]):
    head = RayHead("10.0.0.1:6379")
    connections = len(listens)
    for turn in range(100):
        clock.now = turn / 10
        head.check()
    assert len(listens) - connections == 4


def test_a_head_that_cannot_be_reached_from_here_is_left_to_ray(clock: Clock, listens: list[bool]):
    listens.append(False)
    head = RayHead("10.0.0.1:6379")
    clock.now = 100.0
    head.check()
    assert head.answers
