"""The schedule of a run: which worker computes which shard; and workers as the schedule sees them."""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Generic, Literal

from eyeline.errors import Advice, EyelineError
from eyeline.measure.engines.work import AnyShard, AnySums, ReportStatus, ShardResult, Status

#: ready: the model is open. done: a shard is computed. broke: computing it raised an error, the worker lives. refused: an EyelineError,
#: which ends the run. died: the worker has ended. lost: its machine has ended, which is no fault of the shard. told: what a worker says of
#: a shard that is not done.
EventKind = Literal["ready", "done", "broke", "refused", "died", "lost", "told"]


@dataclass(frozen=True)
class Event:
    """What a worker reports. value: of done, the sums; of broke, died and lost, why; of refused, the error; of told, what it says."""

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
    """The workers of one run: they are started, get shards, and report the results."""

    @abstractmethod
    def start(self) -> int:
        """Start a worker and return its number, without waiting for it. It reports ready, or refused, or died."""

    @abstractmethod
    def send(self, worker: int, shard: object) -> None:
        """Give a worker a shard to compute."""

    @abstractmethod
    def wait(self, seconds: float) -> list[Event]:
        """The events since the last call; empty where none came within that time."""

    @abstractmethod
    def close(self) -> None:
        """End every worker at once."""

    @abstractmethod
    def n_machines(self) -> int:
        """On how many machines workers can be."""


# ---- Schedule


#: After this many failures a shard is computed document by document; after as many failures alone, a document is skipped.
TRIES = 2

#: A shard whose machine is lost is tried again this often before that counts as its own failure.
LOSSES = 8

#: How many shards for each worker may wait until the shard before them is merged.
SHARDS_AHEAD = 4

#: The run ends when this many workers in a row die before they have opened the model.
DEATHS_AT_START = 3

#: Seconds between two checks whether the run should stop.
CHECK_SECONDS = 0.5

#: Seconds that a run waits without any worker, while none can be started or none has opened the model yet.
PATIENCE = 1800.0


@dataclass
class _Case(Generic[AnyShard]):
    """A shard that is not done yet. left: its documents that are still to be tried alone; None: it is not tried document by document."""

    index: int
    shard: AnyShard
    n_documents: int
    failures: int = 0
    losses: int = 0
    left: int | None = None
    failures_alone: dict[str, int] = field(default_factory=dict)
    skipped: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class _Task:
    """A shard to compute: that of a case, or one of its documents alone (its name)."""

    case: _Case[Any]
    shard: Any
    name: str | None = None


class Schedule(Generic[AnyShard, AnySums]):
    """Gives shards to the workers of a pool, and their sums back in the order of the shards: each exactly once, even where workers fail.

    needs       how many workers are kept alive: one that dies is replaced, and its shard is computed again
    report      called often; what it raises ends the run
    retries     how many shards or documents were computed again, shards: how many are done
    """

    def __init__(self, pool: Pool, needs: Needs, report: ReportStatus | None = None) -> None:
        self.pool, self.needs, self.n_workers, self.report = pool, needs, needs.workers, report
        self.retries = self.shards = 0
        self._opening: set[int] = set()
        self._idle: deque[int] = deque()
        self._busy: dict[int, _Task] = {}
        self._tasks: deque[_Task] = deque()
        self._done: dict[int, ShardResult[AnySums]] = {}
        self._documents = self._tokens = self._deaths_at_start = 0
        self._last_alive = time.monotonic()
        for _ in range(needs.workers):
            self._opening.add(pool.start())

    def results(self, shards: Iterable[AnyShard]) -> Iterator[ShardResult[AnySums]]:
        """The sums of each shard, in their order."""
        coming = enumerate(shards, self.shards)
        read = self.shards
        exhausted = False
        while True:
            while self._idle:
                if not self._tasks and not exhausted and read - self.shards < SHARDS_AHEAD * self.n_workers:
                    following = next(coming, None)
                    exhausted = following is None
                    if following is not None:
                        case = _Case(*following, n_documents=following[1].n_documents)
                        self._tasks.append(_Task(case, case.shard))
                        read += 1
                if not self._tasks:
                    break
                worker, task = self._idle.popleft(), self._tasks.popleft()
                self._busy[worker] = task
                self.pool.send(worker, task.shard)
            if self.shards in self._done:
                self.shards += 1
                yield self._done.pop(self.shards - 1)
                continue  # another shard can be read now
            if exhausted and self.shards == read:
                return
            for event in self.pool.wait(CHECK_SECONDS):
                self._handle(event)
            self._check_patience()
            if self.report is not None:
                self.report(Status(self._documents, self._tokens, len(self._idle) + len(self._busy)))

    def _check_patience(self) -> None:
        if self._idle or self._busy:
            self._last_alive = time.monotonic()
        elif time.monotonic() - self._last_alive > PATIENCE:
            raise EyelineError(
                f"No worker has been available for {PATIENCE / 60:.0f} minutes.",
                Advice("Add machines, and go on with resume=True.", "Add machines, and go on with --resume."),
            )

    def _handle(self, event: Event) -> None:
        if event.kind == "refused":
            raise event.value
        if event.kind == "told":
            return
        if event.kind == "ready":
            self._opening.discard(event.worker)
            self._deaths_at_start = 0
            self._idle.append(event.worker)
            return
        gone = event.kind in ("died", "lost")
        if gone:
            self._replace(event)
        task = self._busy.pop(event.worker, None)
        if not gone:
            self._idle.append(event.worker)
        if task is None:
            return
        if event.kind == "done":
            self._succeed(task, event.value)
        elif event.kind == "lost" and task.case.losses < LOSSES:
            task.case.losses += 1
            self.retries += 1
            self._tasks.appendleft(task)
        else:
            self._fail(task, str(event.value))

    def _replace(self, event: Event) -> None:
        if event.worker in self._opening:
            self._opening.discard(event.worker)
            self._deaths_at_start += event.kind == "died"
            if self._deaths_at_start >= DEATHS_AT_START:
                raise EyelineError(
                    f"{self._deaths_at_start} workers ended before they could begin ({event.value}).",
                    "The machine may have no memory left for another model; or a script starts the run outside of",
                    "if __name__ == '__main__': so that every worker starts it again.",
                )
        if event.worker in self._idle:
            self._idle.remove(event.worker)
        self._opening.add(self.pool.start())

    def _succeed(self, task: _Task, result: ShardResult[AnySums]) -> None:
        case = task.case
        if task.name is not None:
            self._tried_alone(case)
            return
        self._documents += case.n_documents
        self._tokens += result.tokens
        self._done[case.index] = replace(result, skipped=dict(case.skipped))

    def _fail(self, task: _Task, why: str) -> None:
        case = task.case
        self.retries += 1
        if task.name is None:
            case.failures += 1
            if case.failures < TRIES:
                self._tasks.appendleft(task)
            elif case.left is None:
                documents = case.shard.alone()
                case.left = len(documents)
                self._tasks.extendleft(_Task(case, shard, name) for name, shard in reversed(documents))
            else:
                raise EyelineError(
                    f"Shard {case.index + 1} ({case.n_documents} documents) cannot be computed: {why}.",
                    "Each of its documents alone can: together they need more memory than a worker has.",
                    "Give each worker more, or fewer workers to a machine.",
                )
            return
        failures = case.failures_alone[task.name] = case.failures_alone.get(task.name, 0) + 1
        if failures < TRIES:
            self._tasks.appendleft(task)
        else:
            case.skipped[task.name] = why
            self._tried_alone(case)

    def _tried_alone(self, case: _Case[Any]) -> None:
        """A document's trial alone is over. After the last, the shard is computed without those that broke their workers."""
        case.left = (case.left or 1) - 1
        if case.left == 0:
            case.failures = 0
            case.shard = case.shard.without(case.skipped)
            if case.shard.n_documents:
                self._tasks.appendleft(_Task(case, case.shard))
            else:
                self._done[case.index] = ShardResult(None, skipped=dict(case.skipped))
