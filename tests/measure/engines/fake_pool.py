"""Workers without processes: they compute in this one, in an order drawn at random, and die when the script says so."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import Any

from eyeline.measure.engines.schedule import Event, Pool
from eyeline.measure.engines.work import ShardResult


@dataclass(frozen=True)
class Numbers:
    """A shard of numbers; its sum is their list, so that one that is lost or counted twice shows."""

    numbers: tuple[int, ...]

    @property
    def n_documents(self) -> int:
        return len(self.numbers)

    def alone(self) -> Sequence[tuple[str, Numbers]]:
        return [(str(number), Numbers((number,))) for number in self.numbers]

    def without(self, names: Collection[str]) -> Numbers:
        return Numbers(tuple(number for number in self.numbers if str(number) not in names))


class FakePool(Pool):
    """answer: a shard → the kind and the value of the event that a worker gives; opening: the same for a worker that begins."""

    def __init__(self, answer: Callable[[Any], tuple[Any, Any]], seed: int = 0, opening: Callable[[], tuple[Any, Any]] | None = None):
        self._answer, self._opening, self._random = answer, opening or (lambda: ("ready", None)), random.Random(seed)  # noqa: S311
        self._waiting: list[tuple[int, Any]] = []
        self.alive: set[int] = set()
        self.started = 0

    def start(self) -> int:
        self.started += 1
        self.alive.add(self.started)
        self._waiting.append((self.started, None))
        return self.started

    def send(self, worker: int, shard: object) -> None:
        assert worker in self.alive, "a dead worker is given nothing"
        self._waiting.append((worker, shard))

    def wait(self, seconds: float) -> list[Event]:
        worker, shard = self._waiting.pop(self._random.randrange(len(self._waiting)))
        kind: Any
        kind, value = self._opening() if shard is None else self._answer(shard)
        if kind in ("died", "lost"):
            self.alive.discard(worker)
        return [Event(worker, kind, value)]

    def close(self) -> None:
        self.alive.clear()

    def n_machines(self) -> int:
        return 1


def computed(shard: Numbers) -> tuple[str, ShardResult[list[int]]]:
    return "done", ShardResult(list(shard.numbers), len(shard.numbers))
