"""`eyeline trace`: a text's attention as numbers in the terminal, per layer how broad it is and where it goes, and its file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.markup import escape
from rich.table import Table

from eyeline.show.cli.options import GivenText, ModelName, NamedPart, numbers
from eyeline.show.cli.terminal import console, print_notices
from eyeline.text.tokenized import printable
from eyeline.words import percent

if TYPE_CHECKING:
    from eyeline.look.stack import Stack
    from eyeline.look.trace import Trace


def trace(
    text: Annotated[str | None, typer.Argument(help="The text to look at.", show_default=False)] = None,
    *,
    model: ModelName,
    given: GivenText,
    part: NamedPart = None,
    layers: Annotated[str | None, typer.Option(help="Layers to keep, from 0, such as 0,5. Default: all.")] = None,
    heads: Annotated[str | None, typer.Option(help="Heads to keep of each layer, such as 0,5. Default: all.")] = None,
    rows: Annotated[
        str | None, typer.Option(help="Queries to keep, by their positions: 0,5, or =-1 for the last token. Default: all.")
    ] = None,
    precision: Annotated[
        str, typer.Option(help="Of the weights kept: auto (as the model computes them), float16 (half of the memory) or float32.")
    ] = "auto",
    words: Annotated[bool, typer.Option("--words", help="Attention between words rather than tokens.")] = False,
    output: Annotated[Path | None, typer.Option("-o", "--output", help="Save the trace: FILE.safetensors", show_default=False)] = None,
    cache: Annotated[bool, typer.Option(help="Keep traces on disk, and take them from there.")] = True,
) -> None:
    """Record one text's attention, and print how broad it is and where it goes, layer by layer.

    [dim]eyeline trace "The cat sat on the mat." --pair "It purred." -o cat.safetensors[/dim]
    """
    from eyeline.look.trace import Selection
    from eyeline.look.trace_cache import kept_trace

    wanted = Selection(numbers(layers), numbers(heads), numbers(rows), precision=precision)
    source = given.source(text, part)
    traced = kept_trace(model, source, wanted, truncate=given.truncate) if cache else None
    if traced is None:
        from eyeline.models.load import load

        traced = load(model, cache=cache).trace_source(source, wanted, truncate=given.truncate)
    traced = traced.words() if words else traced
    if output is not None:
        traced.save(output)
    for table in summary_tables(traced):
        console.print(table)
    console.print("[dim]Means over heads and queries. Attention shows where information may flow, not why the model decided.[/dim]")
    if traced.prediction is not None:
        console.print(f"The model answers: {escape(str(traced.prediction))}", highlight=False)
    print_notices(traced.notices)
    if output is not None:
        console.print(f"Saved to {escape(str(output))}", highlight=False)


def summary_tables(trace: Trace) -> list[Table]:
    """One table for each kind of attention in the trace."""
    return [_table(trace.model, stack) for stack in trace.stacks.values()]


def _table(model: str, stack: Stack) -> Table:
    """Means over heads and queries; every column but the first two is a share of the attention."""
    from eyeline.look.summary import summarise

    queries, keys = len(stack.query_text), len(stack.key_text)
    size = f"{queries} {stack.level}s" if stack.query_text == stack.key_text else f"{queries} queries, {keys} keys"
    layers = f"{len(stack.layers)} layer{'s' if len(stack.layers) != 1 else ''}"
    title = escape(f"{printable(model)} · {stack.name} attention · {layers} x {stack.n_heads} heads · {size}")
    table = Table(title=title, title_justify="left", title_style="bold", box=None, padding=(0, 2, 0, 0))
    table.add_column("layer", justify="right")
    table.add_column("entropy", justify="right")
    summaries = summarise(stack)
    for name in summaries[0].shares if summaries else ():
        table.add_column(name, justify="right")
    table.add_column("most attended")
    for summary in summaries:
        shares = (percent(share, 1) for share in summary.shares.values())
        most = f"{escape(printable(summary.most_attended))} {percent(summary.most_attended_share, 1)}"
        table.add_row(str(summary.layer), f"{summary.entropy:.2f} nats", *shares, most)
    return table
