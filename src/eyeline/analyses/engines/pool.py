"""Workers as the schedule sees them: they are started, get shards, and report the results."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

#: ready: the model is open. done: a shard is folded. broke: its fold raised an error, the worker lives. refused: an EyelineError,
#: which ends the run. died: the worker has ended. lost: its machine has ended, which is no fault of the shard.
EventKind = Literal["ready", "done", "broke", "refused", "died", "lost"]


@dataclass(frozen=True)
class Event:
    """What a worker reports. value: of done, the sums; of broke, died and lost, why; of refused, the error."""

    worker: int
    kind: EventKind
    value: Any = None


@dataclass(frozen=True)
class Needs:
    """What the workers of a run need. workers: how many; threads: of each, always the same, since it decides how sums are rounded."""

    workers: int
    threads: int = 1
    gpus_per_worker: float = 0.0


class Pool(ABC):
    """The workers of one run. `work` is the pickled description of what they do."""

    @abstractmethod
    def start(self) -> int:
        """Start a worker and return its number, without waiting for it. It reports ready, or refused, or died."""

    @abstractmethod
    def send(self, worker: int, shard: object) -> None:
        """Give a worker a shard to fold."""

    @abstractmethod
    def wait(self, seconds: float) -> list[Event]:
        """The events since the last call; empty where none came within that time."""

    @abstractmethod
    def close(self) -> None:
        """End every worker at once."""

    @abstractmethod
    def n_machines(self) -> int:
        """On how many machines workers can be."""
