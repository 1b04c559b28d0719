"""One analysis of one visitor: what it is, how far it is, and how it ended."""

from __future__ import annotations

import secrets
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from eyeline.analyses.progress import Progress, StopRequestedError

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


Work = Callable[[Job], None]
