"""Analyses in the background: one runs, the others wait. Each belongs to a visitor, can be stopped, and ends when its visitor is gone."""

from __future__ import annotations

import shutil
import threading
import time
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

from eyeline.analyses.progress import StopRequestedError
from eyeline.errors import EyelineError
from eyeline.hosts.app.jobs.job import Job, Work
from eyeline.hosts.app.jobs.process import WorkerProcess
from eyeline.hosts.app.jobs.records import JobRecord, read_records, remove_record, write_record
from eyeline.hosts.app.jobs.reuse import copy_finished, find_finished
from eyeline.hosts.app.runs.ownership import is_own
from eyeline.hosts.app.settings import Limits, Settings, current
from eyeline.hosts.app.workspace import Workspace

#: Ended jobs that are remembered.
REMEMBERED = 200


class JobRefusedError(Exception):
    """No further job is accepted. reason: the key of a message under `jobs`; values: the values in that message."""

    def __init__(self, reason: str, **values: str | int) -> None:
        super().__init__(reason)
        self.reason, self.values = reason, values


class JobQueue:
    """Every job of the app. One runs at a time, in the order of their submission.

    workspace: the folder with the records of unfinished jobs, by which a restarted app can tell their visitors, and with finished runs;
    None: no records, and no run is reused. execute: runs the work of a job, in this thread or elsewhere.
    """

    def __init__(
        self,
        limits: Limits,
        workspace: Path | None = None,
        clock: Callable[[], float] = time.monotonic,
        execute: Callable[[Job, Work], None] = lambda job, work: work(job),
    ) -> None:
        self.limits, self._workspace, self._clock, self._execute = limits, workspace, clock, execute
        self._jobs: dict[str, Job] = {}
        self._last_seen: dict[str, float] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()
        if workspace is not None:
            for record in read_records(workspace):
                job = Job(Path(), record.owner, record.page, state="interrupted", id=record.id)
                self._jobs[job.id] = job

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def latest(self, owner: str, page: str) -> Job | None:
        """The job that a visitor submitted last on a page, also after a reload of the page or a restart of the app."""
        return next((job for job in reversed(self._jobs.values()) if (job.owner, job.page) == (owner, page)), None)

    def unfinished(self, owner: str) -> list[Job]:
        """The jobs of a visitor that wait or run."""
        return [job for job in list(self._jobs.values()) if job.owner == owner and not job.ended]

    def is_idle(self) -> bool:
        """Whether no job waits or runs."""
        return all(job.ended for job in list(self._jobs.values()))

    def visitor_seen(self, owner: str) -> None:
        """Note that a visitor has a page open now."""
        self._last_seen[owner] = self._clock()

    def seconds(self, job: Job) -> int:
        """Whole seconds since a job began to run; 0 while it waits."""
        return 0 if job.started is None else int(self._clock() - job.started)

    def stop(self, job: Job) -> None:
        """Stop a job: at its next step where it runs, at once where it waits, so that its visitor has room for another."""
        job.stop.set()
        if job.state == "waiting":
            job.state = "stopped"
            self._remove_record(job)

    def forget(self, job: Job) -> None:
        """Remove an ended job, after its visitor has read how it ended."""
        self._jobs.pop(job.id, None)
        self._remove_record(job)

    def _remove_record(self, job: Job) -> None:
        if self._workspace is not None:
            remove_record(self._workspace, job.id)

    def answer(self, folder: Path, owner: str, page: str, request: str) -> Job | None:
        """A job that is done already, where a finished run of any visitor has the same request; else None."""
        job = Job(folder, owner, page, request=request)
        if not self._reuse(job):
            return None
        with self._lock:
            self._jobs[job.id] = job
        job.state = "done"
        return job

    def _reuse(self, job: Job) -> bool:
        """Use a finished run of the same request as the result: the visitor's own, or a copy of another's. False where none exists."""
        workspace = None if self._workspace is None else Workspace(self._workspace)
        finished = None if workspace is None else find_finished(workspace, job.request, job.owner)
        if finished is None:
            return False
        if is_own(finished, job.owner):
            job.folder, job.reused = finished, True
        else:
            job.reused = copy_finished(finished, job.folder, job.owner, job.request)
        return job.reused

    def submit(
        self, folder: Path, work: Work, owner: str = "", page: str = "", *, language: str = "en", request: str = "", yields: bool = False
    ) -> Job:
        """Start a job in a thread of its own, or raise JobRefusedError where the visitor's share or the queue is full."""
        self.visitor_seen(owner)
        with self._lock:
            self._drop_abandoned()
            for old in [job_id for job_id, job in self._jobs.items() if job.ended][:-REMEMBERED]:
                del self._jobs[old]
            if len(self.unfinished(owner)) >= self.limits.jobs_each:
                raise JobRefusedError("too_many_own", most=self.limits.jobs_each)
            if sum(not job.ended for job in self._jobs.values()) > self.limits.waiting:
                raise JobRefusedError("too_many_waiting")
            for other in self._jobs.values():
                if other.yields and not other.ended and other.request != request:
                    other.stop.set()
            job = Job(folder, owner, page, language=language, request=request, yields=yields)
            job.is_wanted = lambda: yields or self._is_present(owner)
            self._jobs[job.id] = job
        if self._workspace is not None and not yields:
            write_record(self._workspace, JobRecord(job.id, owner, page))
        threading.Thread(target=self._run, args=(job, work), name=f"analysis-{job.id}", daemon=True).start()
        return job

    def _is_present(self, owner: str) -> bool:
        return self._clock() - self._last_seen.get(owner, self._clock()) <= 60 * self.limits.gone_minutes

    def _drop_abandoned(self) -> None:
        """Drop waiting jobs of visitors who are gone, so that they take no room in the queue."""
        for job in self._jobs.values():
            if job.state == "waiting" and not self._is_present(job.owner):
                job.state = "abandoned"

    def _run(self, job: Job, work: Work) -> None:
        with self._turn:
            try:
                if job.state != "waiting":
                    return
                job.check()
                job.state, job.started = "running", self._clock()
                if not self._reuse(job):
                    self._execute(job, work)
                job.state = "done"
            except StopRequestedError:
                job.state = "stopped" if job.stop.is_set() else "abandoned"
            except EyelineError as error:
                job.error, job.state = error.for_app, "failed"
            except Exception as error:  # noqa: BLE001 - whatever it was, the visitor reads it and the app goes on
                job.error, job.state = f"{type(error).__name__}: {error}", "failed"
            finally:
                if job.state != "done":
                    for folder in (job.folder, job.folder.with_name(f".{job.folder.name}")):
                        shutil.rmtree(folder, ignore_errors=True)
                self._remove_record(job)


def job_queue() -> JobQueue:
    """The one queue of the app."""
    return _queue(current())


@lru_cache(maxsize=8)
def _queue(settings: Settings) -> JobQueue:
    if not settings.own_process:
        return JobQueue(settings.limits, settings.workspace)
    return JobQueue(settings.limits, settings.workspace, execute=WorkerProcess(settings).run)
