"""The progress bars of the commands: one bar for each step of an analysis."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import rich.progress
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from eyeline.analyses.progress import Progress, ReportProgress, StopRequestedError
from eyeline.hosts.cli.terminal import new_console


@contextmanager
def progress_bars() -> Iterator[ReportProgress]:
    """Bars on standard error; gives the function that an analysis takes as `progress`."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[speed]}"))
    with rich.progress.Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=new_console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def report(progress: Progress) -> None:
            if progress.step not in tasks:
                tasks[progress.step] = bars.add_task(escape(progress.step.replace("_", " ")), total=progress.of, speed="")
            speed = f"{progress.tokens / max(progress.seconds, 1e-9):,.0f} tokens/s" if progress.tokens else ""
            bars.update(tasks[progress.step], total=progress.of, completed=progress.done, speed=speed)

        with _stop_between_batches(bars) as stop_is_requested:

            def report_or_stop(progress: Progress) -> None:
                report(progress)
                if stop_is_requested():
                    raise StopRequestedError

            yield report_or_stop


@contextmanager
def _stop_between_batches(bars: rich.progress.Progress) -> Iterator[Callable[[], bool]]:
    """The first Ctrl-C lets the current batch finish, so that the sums are whole; the second one ends at once."""
    requested = False

    def request(number: int, frame: object) -> None:
        nonlocal requested
        if requested:
            raise KeyboardInterrupt
        requested = True
        bars.console.print("Stopping after this batch; press Ctrl-C again to end at once.", highlight=False)

    if threading.current_thread() is not threading.main_thread():
        yield lambda: requested
        return
    before = signal.signal(signal.SIGINT, request)
    try:
        yield lambda: requested
    finally:
        signal.signal(signal.SIGINT, before)
