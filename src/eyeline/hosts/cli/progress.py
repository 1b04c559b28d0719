"""The progress bar of the commands that read a corpus."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn

if TYPE_CHECKING:
    from eyeline.analyses.corpus.run import Progress as Place


@contextmanager
def progress_bar(what: str = "sentences") -> Iterator[Callable[[Place], None]]:
    """A bar on standard error; what it gives is called with the place where the run stands."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[speed]}"))
    with Progress(*columns, TimeElapsedColumn(), TimeRemainingColumn(), console=Console(stderr=True)) as bar:
        task = bar.add_task(what, total=None, speed="")

        def show(place: Place) -> None:
            speed = f"{place.tokens / max(place.seconds, 1e-9):,.0f} tokens/s"
            bar.update(task, total=place.of, completed=place.documents, speed=speed)

        yield show
