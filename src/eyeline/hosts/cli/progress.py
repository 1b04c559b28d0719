"""The progress bars of the commands: one bar for each step of an analysis."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import rich.progress
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn

from eyeline.analyses.progress import Progress, ReportProgress, StopRequestedError, first_interrupt_waits
from eyeline.hosts.cli.terminal import new_console


@contextmanager
def progress_bars() -> Iterator[ReportProgress]:
    """Bars on standard error; gives the function that an analysis takes as `progress`.

    Open it before the run folder: then a Ctrl-C that comes once the folder exists always waits for the end of a batch.
    """
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[speed]}"))
    with rich.progress.Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=new_console(stderr=True)) as bars:
        tasks: dict[str, TaskID] = {}

        def report(progress: Progress) -> None:
            if progress.step not in tasks:
                tasks[progress.step] = bars.add_task(escape(progress.step.replace("_", " ")), total=progress.of, speed="")
            speed = f"{progress.tokens / max(progress.seconds, 1e-9):,.0f} tokens/s" if progress.tokens else ""
            if progress.workers is not None:
                speed = f"{speed} {progress.workers} {'worker' if progress.workers == 1 else 'workers'}".strip()
            bars.update(tasks[progress.step], total=progress.of, completed=progress.done, speed=speed)

        def announce() -> None:
            bars.console.print("Stopping after this batch; press Ctrl-C again to end at once.", highlight=False)

        with first_interrupt_waits(announce) as stop_is_requested:

            def report_or_stop(progress: Progress) -> None:
                report(progress)
                if stop_is_requested():
                    raise StopRequestedError

            yield report_or_stop


@contextmanager
def resumable(output: Path) -> Iterator[None]:
    """Wrap a run that saves its partial results: where it is stopped, the message says how to resume it."""
    try:
        yield
    except StopRequestedError:
        raise StopRequestedError(
            f"Stopped. What was measured so far is saved in {output}: add --resume to the same command to go on."
        ) from None
