"""Workers as actors of a Ray cluster."""

from __future__ import annotations

from typing import Any

from eyeline.analyses.engines.pool import Event, EventKind, Needs, Pool
from eyeline.analyses.engines.worker import Worker, begin, reason
from eyeline.errors import EyelineError
from eyeline.version import __version__


class RayWorker:
    """The class of the actors."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def begin(self, version: str, work: bytes, threads: int) -> tuple[EventKind, Any]:
        self._worker, event = begin(version, work, threads)
        return event

    def answer(self, shard: object) -> tuple[EventKind, Any]:
        if self._worker is None:
            raise RuntimeError("the worker has not started")
        return self._worker.answer(shard)


class RayPool(Pool):
    """Actors of the cluster that this process is connected to. The description of the work goes to each machine once.

    shut_down   whether the connection (and a cluster that was started for this run) ends with the pool
    """

    def __init__(self, work: bytes, needs: Needs, *, shut_down: bool) -> None:
        import ray

        self._ray, self._needs, self._shut_down = ray, needs, shut_down
        self._work = ray.put(work)
        self._class = ray.remote(RayWorker).options(
            num_cpus=needs.threads,
            num_gpus=needs.gpus_per_worker,
            max_restarts=0,
            max_task_retries=0,
            scheduling_strategy="SPREAD",
        )
        self._started = 0
        self._actors: dict[int, Any] = {}
        self._answers: dict[Any, int] = {}

    def start(self) -> int:
        number, self._started = self._started, self._started + 1
        actor = self._actors[number] = self._class.remote()
        self._answers[actor.begin.remote(__version__, self._work, self._needs.threads)] = number
        return number

    def send(self, worker: int, shard: object) -> None:
        self._answers[self._actors[worker].answer.remote(shard)] = worker

    def wait(self, seconds: float) -> list[Event]:
        ready, _ = self._ray.wait(list(self._answers), num_returns=1, timeout=seconds)
        return [self._event(answer, self._answers.pop(answer)) for answer in ready]

    def _event(self, answer: Any, worker: int) -> Event:
        try:
            kind, value = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:  # the actor or its machine is gone, or the answer was lost with it
            if "No module named 'eyeline" in str(error):
                refused = EyelineError("A machine of the cluster has no eyeline.", "Install the same version on every machine.")
                return Event(worker, "refused", refused)
            self._ray.kill(self._actors.pop(worker))
            return Event(worker, "died", reason(error))
        return Event(worker, kind, value)

    def close(self) -> None:
        for actor in self._actors.values():
            self._ray.kill(actor)
        self._actors.clear()
        self._answers.clear()
        if self._shut_down:
            self._ray.shutdown()

    def n_machines(self) -> int:
        return sum(bool(node["Alive"]) for node in self._ray.nodes())
