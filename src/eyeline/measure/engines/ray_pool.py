"""Workers as actors of a Ray cluster, and whether the head of the cluster still answers."""

from __future__ import annotations

import os
from socket import create_connection
from time import monotonic
from typing import Any

from eyeline.errors import Advice, EyelineError
from eyeline.measure.engines.schedule import Event, EventKind, Needs, Pool
from eyeline.measure.engines.worker import PackedModel, Worker, begin, reason, versions

#: Part of the message of Ray where the whole machine has ended.
NODE_DIED = "node has died"


class RayPool(Pool):
    """Actors of the cluster that this process is connected to.

    assignment  what each worker is sent when it starts
    packed      the model: it goes to each machine once, where all actors read it from the same memory; None: they open it by its name
    shut_down   whether the connection (and a cluster that was started for this run) ends with the pool
    """

    def __init__(self, assignment: bytes, packed: PackedModel | None, needs: Needs, *, shut_down: bool) -> None:
        import ray

        self._ray, self._needs, self._shut_down = ray, needs, shut_down
        self._head = RayHead(ray.get_runtime_context().gcs_address)
        self._assignment = ray.put(assignment)
        try:
            self._packed = None if packed is None else ray.put(packed)
        except ray.exceptions.ObjectStoreFullError as error:
            size = "" if packed is None else f" of {packed.n_bytes / 1e9:.1f} GB"
            raise EyelineError(
                f"The object store of the Ray cluster has no room for the model{size}.",
                "Start its machines with a larger object store.",
            ) from error
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
        self._answers[actor.begin.remote(versions(), self._assignment, self._needs.threads, self._packed)] = number
        return number

    def send(self, worker: int, shard: object) -> None:
        self._answers[self._actors[worker].answer.remote(shard)] = worker

    def wait(self, seconds: float) -> list[Event]:
        self._head.check()
        ready, _ = self._ray.wait(list(self._answers), num_returns=1, timeout=seconds)
        return [self._event(answer, self._answers.pop(answer)) for answer in ready]

    def _event(self, answer: Any, worker: int) -> Event:
        try:
            kind, value = self._ray.get(answer)
        except self._ray.exceptions.RayError as error:  # the actor or its machine has ended, or the answer was lost with it
            if "No module named 'eyeline" in str(error):
                refused = EyelineError("A machine of the cluster has no eyeline.", "Install the same version on every machine.")
                return Event(worker, "refused", refused)
            self._ray.kill(self._actors.pop(worker))
            return Event(worker, "lost" if NODE_DIED in str(error) else "died", reason(error))
        return Event(worker, kind, value)

    def close(self) -> None:
        for actor in (
            self._actors.values() if self._head.answers else ()
        ):  # else nobody is there to end them, and each call waits for minutes
            self._ray.kill(actor)
        self._actors.clear()
        self._answers.clear()
        if self._shut_down:
            self._ray.shutdown()

    def n_machines(self) -> int:
        return sum(bool(node["Alive"]) for node in self._ray.nodes())


class RayWorker:
    """The class of the actors."""

    def __init__(self) -> None:
        self._worker: Worker | None = None

    def begin(self, versions: dict[str, str], assignment: bytes, threads: int, packed: PackedModel | None) -> tuple[EventKind, Any]:
        self._worker, event = begin(versions, assignment, threads, packed)
        return event

    def answer(self, shard: object) -> tuple[EventKind, Any]:
        if self._worker is None:
            raise RuntimeError("the worker has not started")
        return self._worker.answer(shard)


# ---- The head of the cluster


#: Seconds between two checks, and in which a connection must be accepted.
CHECK_EVERY = 2.0

#: Seconds without an answer after which a run ends. A cluster whose head comes back sets Ray's own variable for this.
PATIENCE = 20.0

PATIENCE_OF_RAY = "RAY_gcs_rpc_server_reconnect_timeout_s"


class RayHead:
    """The head of a cluster at an address (host:port). Where it does not answer, Ray itself waits for minutes, and then ends the process.

    answers   whether it did at the last check; one that cannot be reached from here at the start (ray://) is not checked, and left to Ray
    """

    def __init__(self, address: str) -> None:
        self.address, self.answers = address, True
        host, _, port = address.rpartition(":")
        self._target = host.strip("[]"), int(port)
        self._checked = self._answered = monotonic()
        self._is_checked = self._refusal() is None

    def check(self) -> None:
        """Called often: connects now and then; an error where nothing has listened for too long."""
        if not self._is_checked or monotonic() - self._checked < CHECK_EVERY:
            return
        refusal = self._refusal()
        self.answers, self._checked = refusal is None, monotonic()
        if refusal is None:
            self._answered = self._checked
        elif self._checked - self._answered > float(os.environ.get(PATIENCE_OF_RAY, PATIENCE)):
            raise EyelineError(
                f"The head of the Ray cluster at {self.address} has gone ({refusal}).",
                Advice("Start the cluster again, and go on with resume=True.", "Start the cluster again, and go on with --resume."),
            )

    def _refusal(self) -> OSError | None:
        """Why no connection is possible; None: it is."""
        try:
            create_connection(self._target, CHECK_EVERY).close()
        except OSError as error:
            return error
        return None
