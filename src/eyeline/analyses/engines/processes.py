"""Workers as processes of this machine."""

from __future__ import annotations

import multiprocessing
import os
import signal
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from eyeline.analyses.engines.pool import Event, Needs, Pool


class ProcessPool(Pool):
    """Processes that are started afresh (spawn), each with a pipe. n_gpus: of this machine; the workers share them in turn."""

    def __init__(self, assignment: bytes, needs: Needs, n_gpus: int = 0) -> None:
        from eyeline.analyses.engines.worker import versions  # not above: it imports torch, before which a worker chooses its GPU

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
        process.start()
        theirs.close()
        self._workers[number] = process, ours
        return number

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
    """The main function of a worker's process: folds what comes through the pipe, until that is closed."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches the whole group: the process that started this one ends the run
    if gpu is not None:
        os.environ["CUDA_VISIBLE_DEVICES"] = gpu  # before torch is imported
    from eyeline.analyses.engines.worker import begin

    worker, event = begin(versions, assignment, threads)
    connection.send(event)
    while worker is not None:
        try:
            shard = connection.recv()
        except EOFError:
            return
        connection.send(worker.answer(shard))
