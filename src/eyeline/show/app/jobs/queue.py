"""Analyses in the background: one runs, the others wait. Each belongs to a visitor, can be stopped, and ends when its visitor is gone."""

from __future__ import annotations

import contextlib
import json
import os
import pickle
import re
import shutil
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import lru_cache
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

from eyeline.errors import EyelineError
from eyeline.measure.engines.processes import ProcessPool, tell
from eyeline.measure.engines.schedule import Needs
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.show.app.jobs.job import Job, JobFunction, copy_finished, find_finished
from eyeline.show.app.kit.settings import Limits, Settings, current, use
from eyeline.show.app.kit.workspace import Workspace, is_own

#: Ended jobs that are remembered: of all visitors, and of each.
REMEMBERED, REMEMBERED_EACH = 200, 8


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
        execute: Callable[[Job, JobFunction], None] = lambda job, work: work(job),
    ) -> None:
        self.limits, self._workspace, self._clock, self._execute = limits, workspace, clock, execute
        self._jobs: dict[str, Job] = {}
        self._last_seen: dict[str, float] = {}
        self._lock = threading.Condition()  # notified whenever a job ends
        if workspace is not None:
            for record in read_records(workspace):
                job = Job(Path(), record.owner, record.page, state="interrupted", id=record.id)
                self._jobs[job.id] = job

    def job(self, job_id: str) -> Job | None:
        return self._jobs.get(job_id)

    def latest(self, owner: str, page: str) -> Job | None:
        """The job that a visitor submitted last on a page, also after a reload of the page or a restart of the app."""
        return next((job for job in reversed(list(self._jobs.values())) if (job.owner, job.page) == (owner, page)), None)

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
        with self._lock:
            job.stop.set()
            if job.state != "waiting":
                return
            job.state = "stopped"
            self._lock.notify_all()
        self._remove_record(job)

    def forget(self, job: Job) -> None:
        """Remove an ended job, after its visitor has read how it ended."""
        with self._lock:
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
        job.state = "done"
        with self._lock:
            self._remember(job)
        return job

    def _remember(self, job: Job) -> None:
        """Add a job, and drop the oldest that have ended: no visitor takes the places of all others."""
        ended = [each for each in self._jobs.values() if each.ended]
        own = [each for each in ended if each.owner == job.owner]
        for old in (*own[:-REMEMBERED_EACH], *ended[:-REMEMBERED]):
            self._jobs.pop(old.id, None)
        self._jobs[job.id] = job

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
        self,
        folder: Path,
        work: JobFunction,
        owner: str = "",
        page: str = "",
        *,
        language: str = "en",
        request: str = "",
        yields: bool = False,
    ) -> Job:
        """Start a job in a thread of its own, or raise JobRefusedError where the visitor's share or the queue is full."""
        self.visitor_seen(owner)
        with self._lock:
            self._drop_abandoned()
            if len(self.unfinished(owner)) >= self.limits.jobs_each:
                raise JobRefusedError("too_many_own", most=self.limits.jobs_each)
            if sum(not job.ended for job in self._jobs.values()) > self.limits.waiting:
                raise JobRefusedError("too_many_waiting")
            for other in self._jobs.values():
                if other.yields and not other.ended and other.request != request:
                    other.stop.set()
            job = Job(folder, owner, page, language=language, request=request, yields=yields)
            job.is_wanted = lambda: yields or self._is_present(owner)
            self._remember(job)
        if self._workspace is not None and not yields:
            write_record(self._workspace, JobRecord(job.id, owner, page))
        try:
            threading.Thread(target=self._run, args=(job, work), name=f"analysis-{job.id}", daemon=True).start()
        except RuntimeError as error:  # the machine has no room for another thread
            self.stop(job)
            raise JobRefusedError("too_many_waiting") from error
        return job

    def _is_present(self, owner: str) -> bool:
        return self._clock() - self._last_seen.get(owner, self._clock()) <= 60 * self.limits.gone_minutes

    def _drop_abandoned(self) -> None:
        """Drop waiting jobs of visitors who are gone, so that they take no room in the queue."""
        for job in self._jobs.values():
            if job.state == "waiting" and not self._is_present(job.owner):
                job.state = "abandoned"
        self._lock.notify_all()

    def _run(self, job: Job, work: JobFunction) -> None:
        """Run a job when all that were submitted before it have ended. One that is stopped while it waits leaves no thread."""
        with self._lock:
            self._lock.wait_for(lambda: job.ended or next(each for each in self._jobs.values() if not each.ended) is job)
            is_its_turn = not job.ended
            if is_its_turn:
                job.state, job.started = "running", self._clock()
        state = "failed" if is_its_turn else job.state
        try:
            if is_its_turn:
                job.check()
                if not self._reuse(job):
                    self._execute(job, work)
                state = "done"
        except StopRequestedError:
            state = "stopped" if job.stop.is_set() else "abandoned"
        except EyelineError as error:
            job.error = error.for_app
        except Exception as error:  # noqa: BLE001 - whatever it was, the visitor reads it and the app goes on
            job.error = f"{type(error).__name__}: {error}"
        finally:
            if state != "done":
                for folder in (job.folder, job.folder.with_name(f".{job.folder.name}")):
                    shutil.rmtree(folder, ignore_errors=True)
            self._remove_record(job)
            with self._lock:
                job.state = state
                self._lock.notify_all()


def job_queue() -> JobQueue:
    """The one queue of the app."""
    return _queue(current())


@lru_cache(maxsize=8)
def _queue(settings: Settings) -> JobQueue:
    if not settings.own_process:
        return JobQueue(settings.limits, settings.workspace)
    return JobQueue(settings.limits, settings.workspace, execute=WorkerProcess(settings).run)


# ---- The process of its own: pages stay fast while an analysis runs, and one that runs out of memory does not end the app
#
# It is a worker of the engine of processes; a job is what that engine calls a shard.


#: Seconds between two checks whether the job should end, and between two reports of the same step.
CHECK_EVERY, REPORT_EVERY = 0.2, 0.1


@dataclass(frozen=True)
class Task:
    """A job as it is sent to the process."""

    work: JobFunction
    folder: Path
    owner: str
    page: str
    language: str
    request: str

    def run(self) -> None:
        self.work(_SentJob(self.folder, self.owner, self.page, self.language, request=self.request))


@dataclass(frozen=True)
class Analyses:
    """What the process is started with."""

    settings: Settings

    def open(self, packed: None) -> Callable[[Task], None]:
        use(self.settings)
        return Task.run


class _Pool(ProcessPool):
    """Starts processes that do not run the main file again: Streamlit puts the page that it runs in the place of the main module."""

    def begin(self, process: BaseProcess) -> None:
        main, empty = sys.modules["__main__"], ModuleType("__main__")
        sys.modules["__main__"] = empty
        try:
            process.start()
        finally:
            if sys.modules["__main__"] is empty:  # else another visitor's page was started meanwhile
                sys.modules["__main__"] = main


class WorkerProcess:
    """One process, started with the first job. It stays, with its models; after a job that was stopped it is started anew."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._pool: _Pool | None = None
        self._worker = 0

    def run(self, job: Job, work: JobFunction) -> None:
        """Run the work of a job in the process. Its progress is recorded in the job, and its error is raised here."""
        try:
            pool = self._started()
            pool.send(self._worker, Task(work, job.folder, job.owner, job.page, job.language, job.request))
            while True:
                job.check()
                for event in pool.wait(CHECK_EVERY):
                    if event.kind == "told":
                        job.report_progress(event.value)
                    elif event.kind == "done":
                        return
                    elif event.kind == "refused":
                        raise event.value
                    elif event.kind == "broke":
                        raise EyelineError(event.value)
                    elif event.kind == "died":
                        self.end()
                        raise EyelineError(
                            "The process of the analysis ended before its time.",
                            "There may be too little memory: take less text, or a smaller model.",
                        )
        except StopRequestedError:
            self.end()
            raise

    def _started(self) -> _Pool:
        if self._pool is not None and any(event.kind == "died" for event in self._pool.wait(0)):
            self.end()
        if self._pool is None:
            threads = int(os.environ.get("OMP_NUM_THREADS") or 1)
            self._pool = _Pool(pickle.dumps(Analyses(self._settings)), Needs(1, threads))
            self._worker = self._pool.start()
        return self._pool

    def end(self) -> None:
        """Kill the process, whatever it is doing."""
        if self._pool is not None:
            self._pool.close()
        self._pool = None


@dataclass
class _SentJob(Job):
    """The job inside the process: its reports go through the pipe. The app ends it by ending the process."""

    last: tuple[str, float] = ("", 0.0)

    def report_progress(self, progress: Progress) -> None:
        step, when = self.last
        if (progress.step, progress.index) != (step, self.index) or time.monotonic() - when >= REPORT_EVERY or progress.done == progress.of:
            self.index, self.last = progress.index, (progress.step, time.monotonic())
            tell(progress)


# ---- Records of unfinished jobs in the workspace: after a restart the app can tell visitors that their analysis was interrupted


RECORDS = "jobs"

JOB_ID = re.compile(r"[0-9a-f]{16}")

#: Days after which a record that nobody has read is removed.
KEPT_DAYS = 7


@dataclass(frozen=True)
class JobRecord:
    """Which job, whose, and the page that shows it."""

    id: str
    owner: str
    page: str


def write_record(workspace: Path, record: JobRecord) -> None:
    """Write the record of a job. A full disk does not stop the job itself."""
    with contextlib.suppress(OSError):
        (workspace / RECORDS).mkdir(parents=True, exist_ok=True)
        _path(workspace, record.id).write_text(json.dumps(asdict(record)), encoding="utf-8")


def remove_record(workspace: Path, job_id: str) -> None:
    """Remove the record of a job, where there is one."""
    with contextlib.suppress(OSError):
        _path(workspace, job_id).unlink(missing_ok=True)


def read_records(workspace: Path) -> list[JobRecord]:
    """The records that are left, the oldest first; expired and damaged ones are removed."""
    records = []
    files = [path for path in (workspace / RECORDS).glob("*.json") if path.is_file() and JOB_ID.fullmatch(path.stem)]
    for path in sorted(files, key=lambda path: path.stat().st_mtime):
        record = _read(path)
        if record is None or path.stat().st_mtime < time.time() - KEPT_DAYS * 24 * 3600:
            path.unlink(missing_ok=True)
        else:
            records.append(record)
    return records


def _read(path: Path) -> JobRecord | None:
    try:
        data: Any = json.loads(path.read_text(encoding="utf-8"))
        return JobRecord(path.stem, str(data["owner"]), str(data["page"]))
    except (OSError, ValueError, TypeError, KeyError, RecursionError):
        return None


def _path(workspace: Path, job_id: str) -> Path:
    if not JOB_ID.fullmatch(job_id):
        raise ValueError(f"{job_id!r} is not the id of a job.")
    return workspace / RECORDS / f"{job_id}.json"
