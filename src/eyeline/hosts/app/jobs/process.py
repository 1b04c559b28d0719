"""Analyses in a process of their own: pages stay fast while one runs, and an analysis that runs out of memory does not end the app."""

from __future__ import annotations

import multiprocessing
import os
import signal
import sys
import threading
import time
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType

from eyeline.analyses.progress import Progress, StopRequestedError
from eyeline.errors import EyelineError
from eyeline.hosts.app.jobs.job import Job, Work
from eyeline.hosts.app.settings import Settings, use

#: Seconds between two checks whether the job should end, and between two reports of the same step.
LOOK, REPORT = 0.2, 0.1


@dataclass(frozen=True)
class Task:
    """A job as it is sent to the process."""

    work: Work
    folder: Path
    owner: str
    page: str
    language: str
    request: str


@dataclass(frozen=True)
class Ended:
    """The last message of a job: the reason why it failed, empty where it is done."""

    error: str = ""


class WorkerProcess:
    """One process, started with the first job. It stays, with its models; after a job that was stopped it is started anew."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._process: BaseProcess | None = None
        self._pipe: Connection | None = None

    def run(self, job: Job, work: Work) -> None:
        """Run the work of a job in the process. Its progress is recorded in the job, and its error is raised here."""
        try:
            pipe = self._started()
            pipe.send(Task(work, job.folder, job.owner, job.page, job.language, job.request))
            while True:
                job.check()
                if not pipe.poll(LOOK):
                    continue
                message = pipe.recv()
                if isinstance(message, Ended):
                    break
                job.report_progress(message)
        except StopRequestedError:
            self.end()
            raise
        except (EOFError, OSError) as error:
            self.end()
            raise EyelineError(
                "The process of the analysis ended before its time.", "There may be too little memory: take less text, or a smaller model."
            ) from error
        if message.error:
            raise EyelineError(message.error)

    def _started(self) -> Connection:
        if self._process is not None and self._process.is_alive() and self._pipe is not None:
            return self._pipe
        self.end()
        context = multiprocessing.get_context("spawn")
        self._pipe, worker_end = context.Pipe()
        self._process = context.Process(target=serve, args=(worker_end, self._settings), name="eyeline-analyses", daemon=True)
        _start_without_main(self._process)
        worker_end.close()  # else recv would not raise EOFError when the process ends
        return self._pipe

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        if self._process is not None:
            self._process.kill()
            self._process.join()
        if self._pipe is not None:
            self._pipe.close()
        self._process = self._pipe = None


def _start_without_main(process: BaseProcess) -> None:
    """Start a process that does not run the main file again: Streamlit puts the page that it runs in the place of the main module."""
    main, empty = sys.modules["__main__"], ModuleType("__main__")
    sys.modules["__main__"] = empty
    try:
        process.start()
    finally:
        if sys.modules["__main__"] is empty:  # else another visitor's page was started meanwhile
            sys.modules["__main__"] = main


@dataclass
class _SentJob(Job):
    """The job inside the process: its reports go through the pipe. The app ends it by ending the process."""

    pipe: Connection | None = None
    last: tuple[str, float] = ("", 0.0)

    def report_progress(self, progress: Progress) -> None:
        step, when = self.last
        if (progress.step, progress.index) != (step, self.index) or time.monotonic() - when >= REPORT or progress.done == progress.of:
            self.index, self.last = progress.index, (progress.step, time.monotonic())
            assert self.pipe is not None  # noqa: S101 - set where it is created
            self.pipe.send(progress)


def serve(pipe: Connection, settings: Settings) -> None:
    """The main loop of the process: one job after the other, until the app has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for the app, which then ends this process
    threading.Thread(target=_end_with_parent, daemon=True).start()
    use(settings)
    while True:
        try:
            task: Task = pipe.recv()
        except EOFError:
            return
        job = _SentJob(task.folder, task.owner, task.page, task.language, request=task.request, pipe=pipe)
        try:
            task.work(job)
            ended = Ended()
        except EyelineError as error:
            ended = Ended(str(error))
        except Exception as error:  # noqa: BLE001 - whatever it was, the visitor reads it and the process goes on
            ended = Ended(f"{type(error).__name__}: {error}")
        pipe.send(ended)


def _end_with_parent() -> None:
    """End this process as soon as the app has ended, even in the middle of an analysis."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
