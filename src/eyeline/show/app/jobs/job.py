"""One analysis of one visitor: what it is, how far it is, how it ended, and its finished run."""

from __future__ import annotations

import hashlib
import os
import secrets
import shutil
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eyeline.errors import EyelineError
from eyeline.look.trace_cache import files_of
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.show.app.kit.workspace import Ownership, Workspace, read_ownership, write_ownership
from eyeline.show.report import write_report
from eyeline.version import __version__

ENDED = ("done", "stopped", "abandoned", "failed", "interrupted")


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
    request       the key of the request (`request_key`): a finished run with the same key is the result
    reused        whether such a finished run was used
    yields        whether it makes room for the jobs of visitors
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
    request: str = ""
    reused: bool = False
    yields: bool = False
    id: str = field(default_factory=lambda: secrets.token_hex(8))
    stop: threading.Event = field(default_factory=threading.Event)
    is_wanted: Callable[[], bool] = lambda: True

    @property
    def ended(self) -> bool:
        return self.state in ENDED

    @property
    def share_done(self) -> float:
        """How much of the whole job is done, from 0 to 1: the steps before this one, and the done part of this one."""
        return Progress(self.step, self.done, self.of, index=self.index, n_steps=self.n_steps).share

    def report_progress(self, progress: Progress) -> None:
        """Record how far the work is. Raises StopRequestedError where the visitor has stopped the job or is gone."""
        self.done, self.of, self.step = progress.done, progress.of, progress.step
        self.index, self.n_steps = progress.index, progress.n_steps
        self.check()
        time.sleep(0.005)  # other visitors' pages come first

    def check(self) -> None:
        """Raise StopRequestedError where the job should end."""
        if self.stop.is_set() or not self.is_wanted():
            raise StopRequestedError


JobFunction = Callable[[Job], None]


# ---- Finished runs as results of later requests: nothing is measured twice


def request_key(page: str, source: str, text: bytes, options: object, language: str) -> str:
    """The key of a request: two requests with the same key have the same result.

    page      the page that shows the result
    source    what `load` takes for the model; the checksums of its files count too, where they are on this machine
    text      the bytes that are read
    options   everything else that the visitor chose; its repr counts
    language  the language of the report
    """
    files = files_of(source)
    checksums = None if files is None else files.checksums()
    parts = (__version__, page, source, checksums, hashlib.sha256(text).hexdigest(), repr(options), language)
    return hashlib.sha256(repr(parts).encode()).hexdigest()[:32]


def find_finished(workspace: Workspace, request: str, owner: str = "") -> Path | None:
    """A finished run of the same request: first one of this visitor, then any other; None where there is none."""
    if not request:
        return None
    owners = {folder: read_ownership(folder) for folder in (*workspace.samples().values(), *workspace.runs().values())}
    same = [folder for folder, known in owners.items() if known is not None and known.request == request]
    return min(same, key=lambda folder: _owner(owners[folder]) != owner, default=None)


def _owner(ownership: Ownership | None) -> str:
    return "" if ownership is None else ownership.owner


def copy_finished(finished: Path, folder: Path, owner: str, request: str) -> bool:
    """Copy a finished run into a folder of this visitor. False where the run was deleted meanwhile."""
    unfinished = folder.with_name(f".{folder.name}")
    try:
        shutil.copytree(finished, unfinished, copy_function=_link)
        write_ownership(unfinished, Ownership(owner, request=request))
        unfinished.replace(folder)
    except (OSError, EyelineError):
        return False
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
    return True


def _link(source: str, target: str) -> None:
    """A hard link; a copy where the file system has none. Safe, since files of runs are replaced, never changed in place."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copy2(source, target)


# ---- The run of a finished job: saved whole or not at all, with the name of its owner


def save_run(job: Job, save: Callable[[Path], object]) -> None:
    """Save into a hidden folder first, and move it into place when all of it is written."""
    unfinished = job.folder.with_name(f".{job.folder.name}")
    try:
        save(unfinished)
        write_report(unfinished, job.language)
        write_ownership(unfinished, Ownership(job.owner, request=job.request))
        job.check()
        unfinished.replace(job.folder)
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)
