"""The terminal that commands print to. Control characters from files and names are shown as escapes, never sent to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from eyeline.errors import visible
from eyeline.words import Words

if TYPE_CHECKING:
    from eyeline.results.space.gauge_row import GaugeRow


class _Visible:
    """A renderable whose text has no control characters; the colours that rich adds itself stay."""

    def __init__(self, renderable: ConsoleRenderable) -> None:
        self.renderable = renderable

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        for segment in console.render(self.renderable, options):
            yield segment if segment.control else Segment(visible(segment.text), segment.style)


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


def print_gauges(rows: Sequence[GaugeRow]) -> None:
    """The table that compares every gauge with none; nothing where no gauge was measured."""
    from eyeline.plots.space.gauges import COLUMNS, gauges_table

    if not rows:
        return
    shown = gauges_table(rows, Words())
    console.print(f"{shown.title}. {shown.about}", highlight=False)
    table = Table(box=None)
    for name, heading in zip(COLUMNS, shown.columns, strict=True):
        table.add_column(heading, justify="right" if name in ("before", "after") else "left")
    for row in shown.rows:
        table.add_row(*row)
    console.print(table)
