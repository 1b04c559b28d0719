"""Analyses in the background: one at a time, the others wait; each can be stopped, and only what is finished is kept."""

from __future__ import annotations

import contextlib
import json
import secrets
import shutil
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from eyeline.analyses.progress import Progress, StopRequestedError
from eyeline.errors import EyelineError
from eyeline.hosts.app.settings import current
from eyeline.hosts.report.write import write_report

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus

#: Beside run.json: whose run it is. A run without it was made on the command line, and is everybody's.
OWNER = "app.json"
#: Finished jobs that are remembered.
REMEMBERED = 200


@dataclass
class Job:
    """state: waiting, running, done, stopped or failed. done, of: documents, or any other measure of the way. doing: the step of several.
    folder: where the finished run lies."""

    folder: Path
    state: str = "waiting"
    done: int = 0
    of: int | None = None
    doing: str = ""
    error: str = ""
    number: str = field(default_factory=lambda: secrets.token_hex(8))
    stop: threading.Event = field(default_factory=threading.Event)

    @property
    def ended(self) -> bool:
        return self.state in ("done", "stopped", "failed")

    def report_progress(self, progress: Progress) -> None:
        """Note how far the work is; where its visitor has asked to stop, it ends here."""
        self.done, self.of, self.doing = progress.done, progress.of, progress.step
        if self.stop.is_set():
            raise StopRequestedError
        time.sleep(0.005)  # those who only look come first


class Desk:
    """Every job of the app."""

    def __init__(self, waiting: int) -> None:
        self.waiting = waiting
        self._jobs: dict[str, Job] = {}
        self._lock, self._turn = threading.Lock(), threading.Lock()

    def job(self, number: str) -> Job | None:
        return self._jobs.get(number)

    def take(self, folder: Path, work: Callable[[Job], None]) -> Job | None:
        """Begin a job in a thread of its own; None where too many wait already."""
        with self._lock:
            for old in [number for number, job in self._jobs.items() if job.ended][:-REMEMBERED]:
                del self._jobs[old]
            if sum(not job.ended for job in self._jobs.values()) > self.waiting:
                return None
            job = Job(folder)
            self._jobs[job.number] = job
        threading.Thread(target=self._work, args=(job, work), name=f"analysis-{job.number}", daemon=True).start()
        return job

    def _work(self, job: Job, work: Callable[[Job], None]) -> None:
        with self._turn:
            try:
                if job.stop.is_set():
                    raise StopRequestedError
                job.state = "running"
                work(job)
                job.state = "done"
            except StopRequestedError:
                job.state = "stopped"
            except EyelineError as error:
                job.error, job.state = str(error), "failed"
            except Exception as error:  # noqa: BLE001 - whatever it was, the visitor is told and the page goes on
                job.error, job.state = f"{type(error).__name__}: {error}", "failed"
            finally:
                if job.state != "done":
                    shutil.rmtree(job.folder, ignore_errors=True)


@lru_cache(maxsize=1)
def desk() -> Desk:
    """The one desk of the app."""
    return Desk(current().limits.waiting)


def measure(model: Model, corpus: Corpus, only: Sequence[str], limit: int, owner: str) -> Callable[[Job], None]:
    """The work of a job: the analysis, then the run's folder, whole or not at all."""
    from eyeline.analyses.corpus.run import analyse
    from eyeline.analyses.corpus.statistics.catalogue import statistics_named

    def work(job: Job) -> None:
        def report(progress: Progress) -> None:
            job.report_progress(replace(progress, step=""))  # the page counts texts itself

        run = analyse(model, corpus, statistics_named(only), limit=min(limit, len(corpus)), window=True, progress=report)
        keep(job, owner, run.save)

    return work


def keep(job: Job, owner: str, save: Callable[[Path], object]) -> None:
    """What a job found, saved into its folder: whole or not at all, and with its owner's name."""
    half = job.folder.with_name(f".{job.folder.name}")
    try:
        save(half)
        write_report(half)
        (half / OWNER).write_text(json.dumps({"owner": owner}), encoding="utf-8")
        if job.stop.is_set():
            raise StopRequestedError
        half.replace(job.folder)
    finally:
        shutil.rmtree(half, ignore_errors=True)


def owner_of(folder: Path) -> str | None:
    """Who made a run in the app; None for a run of the command line."""
    if not (folder / OWNER).exists():
        return None
    with contextlib.suppress(OSError, ValueError):
        found: Any = json.loads((folder / OWNER).read_text(encoding="utf-8"))
        if isinstance(found, dict):
            return str(found.get("owner", ""))
    return ""
