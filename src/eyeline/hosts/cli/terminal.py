"""The terminal that commands print to. Control characters from files and names are shown as escapes, never sent to it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console, ConsoleOptions, ConsoleRenderable, RenderHook, RenderResult
from rich.markup import escape
from rich.segment import Segment
from rich.table import Table

from eyeline.errors import visible
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
    """What a reader of the numbers or of the picture must know, a line each."""
    for notice in notices:
        console.print(f"[bold]Note[/bold] {escape(notice)}", highlight=False, soft_wrap=True)


def print_gauges(rows: Sequence[GaugeRow]) -> None:
    """Every gauge beside none; nothing where none was tried."""
    if not rows:
        return
    table = Table(title="Dot product against distance, weighted by attention (−1 is best)", box=None, title_justify="left")
    for heading in ("gauge", "distance", "in", "before", "after", "worse than none"):
        table.add_column(heading, justify="right" if heading in ("before", "after") else "left")
    several = len({row.stack for row in rows}) > 1
    for row in rows:
        numbers = (f"{row.before:.2f}".replace("-", "−"), f"{row.after:.2f}".replace("-", "−"))
        gauge = f"{row.gauge} ({row.stack})" if several else row.gauge
        table.add_row(gauge, row.distance, row.where, *numbers, f"{row.worse} of {row.heads} heads")
    console.print(table)
