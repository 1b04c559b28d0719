"""How an analysis reports its progress, and how it is stopped: one protocol for all of them."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Protocol


class StopRequestedError(Exception):
    """Raise it in the function that receives progress: the analysis ends there. It does not mean that the analysis failed."""


@dataclass(frozen=True)
class Progress:
    """How far an analysis is.

    step      what it does at present: documents, sentences, fitting, …
    done, of  how much of this step is done, and how much there is; None where that is not known
    tokens    tokens read so far; 0 where the step reads no text
    seconds   since the analysis began; of a resumed run, with the seconds before it was interrupted
    index     which step this is, from 0, of n_steps in all
    workers   that are alive; None where there are none beside this process
    kernel    the code for a GPU that is compiled now, or read from the disk where an earlier process compiled it; else empty
    """

    step: str
    done: int
    of: int | None
    tokens: int = 0
    seconds: float = 0.0
    index: int = 0
    n_steps: int = 1
    workers: int | None = None
    kernel: str = ""

    @property
    def share(self) -> float:
        """How much of the whole analysis is done, from 0 to 1, with all steps counted alike.

        >>> Progress("fitting", 1, 2, index=1, n_steps=2).share
        0.75
        """
        within = min(1.0, self.done / self.of) if self.of else 0.0
        return min(1.0, (self.index + within) / self.n_steps)


class ReportProgress(Protocol):
    """What every analysis takes as `progress`: a function that is called often, and raises StopRequestedError to end the analysis."""

    def __call__(self, progress: Progress, /) -> None: ...


class ReportStep(Protocol):
    """The same within one step."""

    def __call__(self, done: int, of: int | None, tokens: int = 0) -> None: ...


class ReportWork(ReportStep, Protocol):
    """The same for a step that workers may do: with how many are alive."""

    def __call__(self, done: int, of: int | None, tokens: int = 0, workers: int | None = None) -> None: ...


class Steps:
    """The steps of one analysis, numbered in the order in which they begin, reported to one function.

    >>> steps = Steps(lambda progress: print(progress.step, progress.done, progress.of, progress.share), 2)
    >>> report = steps.begin("texts")
    >>> report(1, 2)
    texts 1 2 0.25
    """

    def __init__(self, report: ReportProgress | None, n_steps: int = 1) -> None:
        self.n_steps = n_steps
        self._report, self._begun, self._started = report, 0, time.monotonic()

    def begin(self, step: str) -> ReportWork:
        """The function that reports the next step."""
        index = self._begun
        self._begun += 1

        def report(done: int, of: int | None, tokens: int = 0, workers: int | None = None) -> None:
            if self._report is not None:
                self._report(Progress(step, done, of, tokens, time.monotonic() - self._started, index, self.n_steps, workers))

        return report

    def nested(self, step: str, n_steps: int = 1) -> ReportProgress:
        """A function for an analysis within this one, of n_steps steps of its own, which are all called `step` here."""
        first = self._begun
        self._begun += n_steps

        def report(progress: Progress) -> None:
            if self._report is not None:
                seconds = time.monotonic() - self._started
                self._report(replace(progress, step=step, seconds=seconds, index=first + progress.index, n_steps=self.n_steps))

        return report


@contextmanager
def first_interrupt_waits(announce: Callable[[], None] = lambda: None) -> Iterator[Callable[[], bool]]:
    """Within this block the first Ctrl-C only calls `announce`; the second one interrupts at once.

    Gives a function that returns whether a Ctrl-C came. Nothing changes in a thread, where Python delivers no Ctrl-C.
    """
    requested = False

    def request(number: int, frame: object) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True
        announce()

    if threading.current_thread() is not threading.main_thread():
        yield lambda: requested
        return
    before = signal.signal(signal.SIGINT, request)
    try:
        yield lambda: requested
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def interrupt_between_steps() -> Iterator[Callable[[], None]]:
    """Within this block the first Ctrl-C is raised only by the function that this gives.

    An analysis that saves its sums calls that function where they are complete. Where the host has its own handler, nothing changes.
    """
    if signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield lambda: None
        return
    with first_interrupt_waits() as is_requested:

        def raise_if_requested() -> None:
            if is_requested():
                raise KeyboardInterrupt

        yield raise_if_requested
