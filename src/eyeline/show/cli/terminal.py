"""How the commands look in a terminal: help, printed text, progress bars."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import rich.progress
from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, TaskID, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.segment import Segment
from typer.core import TyperCommand, TyperGroup

from eyeline.errors import escape_controls
from eyeline.measure.runs.progress import Progress, ReportProgress, StopRequestedError, first_interrupt_waits

# ---- Help that shows options as people type them


#: The name of an option's value, by the name of its type.
VALUES = {"path": "PATH", "int": "NUMBER", "float": "NUMBER", "str": "TEXT"}


class PlainCommand(TyperCommand):
    """A command whose help has no `<bool>` after a flag, NUMBER, TEXT or PATH after an option, and arguments as TEXT, not {TEXT}."""

    def get_params(self, ctx: Any) -> Any:
        return with_plain_values(super().get_params(ctx), ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return without_braces(super().collect_usage_pieces(ctx))


class PlainGroup(TyperGroup):
    """The same for the options before the command."""

    def get_params(self, ctx: Any) -> Any:
        return with_plain_values(super().get_params(ctx), ctx)

    def collect_usage_pieces(self, ctx: Any) -> list[str]:
        return without_braces(super().collect_usage_pieces(ctx))


def without_braces(pieces: list[str]) -> list[str]:
    """A needed argument of the usage line as its name alone.

    >>> without_braces(["[OPTIONS]", "{TEXT}", "{CORPUS}...", "[FOLDER]"])
    ['[OPTIONS]', 'TEXT', 'CORPUS...', '[FOLDER]']
    """
    return [piece.replace("{", "").replace("}", "") for piece in pieces]


def with_plain_values(params: Any, ctx: Any) -> Any:
    for param in params:
        if not hasattr(param, "display_type"):  # older typers have none
            continue
        if param.param_type_name != "option":  # an argument is shown by its name alone
            param.metavar, param.display_type = param.metavar or str(param.name).upper(), _no_type
        elif param.metavar is None:
            param.metavar = "" if param.is_flag else _value_name(str(param.display_type(ctx) or ""))
    return params


def _no_type(ctx: Any) -> str:
    return ""


def _value_name(kind: str) -> str:
    """
    >>> [_value_name(kind) for kind in ("<str>", "<list[str]>", "<path>", "<int>", "<head|model>", "<int range>")]
    ['TEXT', 'TEXT', 'PATH', 'NUMBER', 'head|model', 'NUMBER']
    """
    name = kind.strip("<>").removeprefix("list[").removesuffix("]").removesuffix(" range")
    return VALUES.get(name, name)


# ---- The terminal that commands print to. Control characters from files and names are shown as escapes, never sent to it


class _Visible:
    """A renderable whose text has no control characters; the colours that rich adds itself stay."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(escape_controls(segment.text), segment.style)


class _ShowControls(RenderHook):
    def process_renderables(self, renderables: list[ConsoleRenderable]) -> list[ConsoleRenderable]:
        return [_Visible(renderable) for renderable in renderables]


def new_console(*, stderr: bool = False) -> Console:
    console = Console(stderr=stderr)
    console.push_render_hook(_ShowControls())
    return console


#: Standard output, of every command.
console = new_console()


def print_notices(notices: Iterable[str]) -> None:
    """Print the notices of a result, one a line."""
    for notice in notices:
        console.print(f"[bold]Note[/bold] {escape(notice)}", highlight=False, soft_wrap=True)


# ---- Progress bars: one for each step of an analysis


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
            if progress.kernel:
                speed = f"preparing a GPU kernel ({progress.kernel})"
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
