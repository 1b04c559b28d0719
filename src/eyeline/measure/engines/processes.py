"""What an engine is, and the engine whose workers are processes of this machine.

To import this module does not import torch: a worker imports it first, then chooses its GPU, and only then imports torch.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import socket
import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from eyeline.errors import EyelineError, TextError
from eyeline.measure.engines.schedule import Event, Needs, Pool, Schedule
from eyeline.measure.engines.work import ReportStatus, Work

if TYPE_CHECKING:
    from eyeline.models.model import Model

EngineName = Literal["local", "processes", "ray"]

LARGEST_WORKERS = 10_000


class Engine(ABC):
    """Where the shards of an analysis are computed. Its workers live from the beginning of a session to its end."""

    name: ClassVar[EngineName]

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot work, before a model is opened or a folder written."""

    @abstractmethod
    def needs(self) -> Needs:
        """How many workers, and what each needs."""

    @abstractmethod
    def pool(self, work: Work[Any, Any], model: Model) -> Pool:
        """The workers for this work with this model; an error where there can be none."""

    @contextmanager
    def session(self, work: Work[Any, Any], model: Model, report: ReportStatus | None = None) -> Iterator[Schedule[Any, Any]]:
        """Start workers, which open the model at once and end with the session."""
        pool = self.pool(work, model)
        try:
            yield Schedule(pool, self.needs(), report)
        finally:
            pool.close()


@dataclass(frozen=True)
class Processes(Engine):
    """Processes of this machine, which share its GPUs where it has some.

    workers   how many; without it, as many as this machine has cores for
    threads   of each: another number may round sums differently, another number of workers never does
    """

    workers: int | None = None
    threads: int = 1
    name: ClassVar[EngineName] = "processes"

    def check(self) -> None:
        check_counts(self.workers, self.threads)

    def needs(self) -> Needs:
        self.check()
        return Needs(self.workers or max(1, (os.cpu_count() or 1) // self.threads), self.threads)

    def pool(self, work: Work[Any, Any], model: Model) -> Pool:
        import torch

        from eyeline.measure.engines.worker import assignment_by_name

        return ProcessPool(assignment_by_name(work, model), self.needs(), torch.cuda.device_count())


def check_counts(workers: int | None, threads: int, gpus_per_worker: float = 0) -> None:
    """Refuse numbers of workers, threads and GPUs that are out of range."""
    if workers is not None and (not isinstance(workers, int) or not 1 <= workers <= LARGEST_WORKERS):
        raise TextError(f"{workers!r} workers.", f"Give 1 to {LARGEST_WORKERS:,}.")
    if not isinstance(threads, int) or threads < 1:
        raise TextError(f"{threads!r} threads for each worker.", "Give 1 or more.")
    if gpus_per_worker < 0:
        raise TextError(f"{gpus_per_worker} GPUs for each worker.", "Give 0, 1 or more, or a share such as 0.5.")


# ---- Workers


class ProcessPool(Pool):
    """Processes that are started afresh (spawn), each with a pipe. n_gpus: of this machine; the workers share them in turn."""

    def __init__(self, assignment: bytes, needs: Needs, n_gpus: int = 0) -> None:
        from eyeline.measure.engines.worker import versions

        self._assignment, self._versions, self._needs, self._n_gpus = assignment, versions(), needs, n_gpus
        self._context = multiprocessing.get_context("spawn")
        self._started = 0
        self._workers: dict[int, tuple[BaseProcess, Connection]] = {}

    def start(self) -> int:
        number, self._started = self._started, self._started + 1
        ours, theirs = self._context.Pipe()
        gpu = str(number % self._n_gpus) if self._n_gpus else None
        process = self._context.Process(
            target=serve, args=(theirs, self._versions, self._assignment, self._needs.threads, gpu), daemon=True
        )
        self.begin(process)
        theirs.close()
        self._workers[number] = process, ours
        return number

    def begin(self, process: BaseProcess) -> None:
        """Start a process."""
        process.start()

    def send(self, worker: int, shard: object) -> None:
        try:
            self._workers[worker][1].send(shard)
        except (BrokenPipeError, ConnectionResetError):
            return  # the worker is gone: `wait` reports it

    def wait(self, seconds: float) -> list[Event]:
        ready = set(wait([connection for _, connection in self._workers.values()], seconds))
        events: list[Event] = []
        for number, (process, connection) in list(self._workers.items()):
            if connection not in ready:
                continue
            try:
                events.append(Event(number, *connection.recv()))
            except (EOFError, OSError):
                del self._workers[number]
                process.join()
                connection.close()
                events.append(Event(number, "died", f"the worker ended with code {process.exitcode}"))
        return events

    def close(self) -> None:
        for process, connection in self._workers.values():
            process.kill()
            process.join()
            connection.close()
        self._workers.clear()

    def n_machines(self) -> int:
        return 1

    def process_ids(self) -> list[int]:
        """The process ids of the live workers."""
        return [process.pid for process, _ in self._workers.values() if process.pid is not None]


def serve(connection: Connection, versions: dict[str, str], assignment: bytes, threads: int, gpu: str | None) -> None:
    """The main function of a worker's process: computes what comes through the pipe, until that is closed."""
    global _connection
    _connection = connection
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the process that started this one ends the run
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu  # before torch is imported
    try:
        from eyeline.measure.engines.worker import begin
    except Exception as error:  # noqa: BLE001 - whatever it is, the run must report it: a worker that only ended would seem to lack memory
        name, reason = socket.gethostname(), f"{type(error).__name__}: {error}"
        connection.send(("refused", EyelineError(f"The worker on {name} cannot begin.", reason)))
        return

    worker, event = begin(versions, assignment, threads)
    connection.send(event)
    while worker is not None:
        try:
            shard = connection.recv()
        except EOFError:
            return
        connection.send(worker.answer(shard))


#: In a worker's process: its pipe.
_connection: Connection | None = None


def tell(value: object) -> None:
    """In a worker: report something of the shard that is being computed, as an event of the kind told."""
    if _connection is not None:
        _connection.send(("told", value))


def _end_with_parent() -> None:
    """End this process as soon as the one that started it has ended, even in the middle of a shard."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
