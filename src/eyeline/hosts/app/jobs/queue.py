"""Analyses in the background: one runs, the others wait. Each belongs to a visitor, can be stopped, and ends when its visitor is gone."""

from __future__ import annotations

import secrets
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from eyeline.analyses.progress import Progress, StopRequestedError
from eyeline.errors import EyelineError
from eyeline.hosts.app.jobs.records import JobRecord, read_records, remove_record, write_record
from eyeline.hosts.app.settings import Limits, current

#: Ended jobs that are remembered.
REMEMBERED = 200
ENDED = ("done", "stopped", "abandoned", "failed", "interrupted")


class JobRefusedError(Exception):
    """Why no further job is accepted. reason: the key of a message under `jobs`; values: what fills its blanks."""

    def __init__(self, reason: str, **values: str | int) -> None:
        super().__init__(reason)
        self.reason, self.values = reason, values


@dataclass
class Job:
    """One analysis of one visitor.

    folder        where the finished run will be
    owner, page   the visitor, and the page that shows the job
    language      of that page, and so of the report
    state         waiting or running; then done, stopped (by the visitor), abandoned (the visitor is gone), failed, or interrupted (by a
                  restart of the app)
    done, of      how many documents, or another count of the work
    step          the name of the current step, where there are several
    index, n_steps   which step that is, from 0, and how many there are
    started       by the clock of the queue, when the job began to run
    """

    folder: Path
    owner: str = ""
    page: str = ""
    language: str = "en"
    state: str = "waiting"
    done: int = 0
    of: int | None = None
    step: str = ""
    index: int = 0
    n_steps: int = 1
    started: float | None = None
    error: str = ""
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    stop: threading.Event = field(default_factory=threading.Event)
    is_wanted: Callable[[], bool] = lambda: True

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    def report_progress(self, progress: Progress) -> None:
        """Note how far the work is. Where the visitor has stopped the job, or is gone, the work ends here."""
        self.done, self.of, self.step = progress.done, progress.of, progress.step
        self.index, self.n_steps = progress.index, progress.n_steps
        self.check()
        time.sleep(0.005)  # other visitors' pages come first

    def check(self) -> None:
        """Raise where the job should end."""
        if self.stop.is_set() or not self.is_wanted():
            raise StopRequestedError


Work = Callable[[Job], None]


class JobQueue:
    """Every job of the app. One runs at a time, in the order of their submission.

    workspace: where unfinished jobs are noted, so that a restart of the app can tell their visitors; None notes nothing.
    """

    def __init__(self, limits: Limits, workspace: Path | None = None, clock: Callable[[], float] = time.monotonic) -> None:
        self.limits, self._workspace, self._clock = limits, workspace, clock
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

    def submit(self, folder: Path, work: Work, owner: str = "", page: str = "", *, language: str = "en") -> Job:
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
            job = Job(folder, owner, page, language=language)
            job.is_wanted = lambda: self._is_present(owner)
            self._jobs[job.id] = job
        if self._workspace is not None:
            write_record(self._workspace, JobRecord(job.id, owner, page))
        threading.Thread(target=self._run, args=(job, work), name=f"analysis-{job.id}", daemon=True).start()
        return job

    def _is_present(self, owner: str) -> bool:
        return self._clock() - self._last_seen.get(owner, self._clock()) <= 60 * self.limits.gone_minutes

    def _drop_abandoned(self) -> None:
        """Let waiting jobs of visitors who are gone make room at once."""
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
                work(job)
                job.state = "done"
            except StopRequestedError:
                job.state = "stopped" if job.stop.is_set() else "abandoned"
            except EyelineError as error:
                job.error, job.state = error.for_app, "failed"
            except Exception as error:  # noqa: BLE001 - whatever it was, the visitor reads it and the app goes on
                job.error, job.state = f"{type(error).__name__}: {error}", "failed"
            finally:
                if job.state != "done":
                    shutil.rmtree(job.folder, ignore_errors=True)
                self._remove_record(job)


def job_queue() -> JobQueue:
    """The one queue of the app."""
    return _queue(current().limits, current().workspace)


@lru_cache(maxsize=8)
def _queue(limits: Limits, workspace: Path) -> JobQueue:
    return JobQueue(limits, workspace)
