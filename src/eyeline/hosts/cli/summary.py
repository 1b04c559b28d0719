"""A trace in the terminal: per layer, how broad its attention is and where it goes."""

from __future__ import annotations

from rich.markup import escape
from rich.table import Table

from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.results.trace.summary import summarise
from eyeline.text.printable import printable
from eyeline.words.percent import percent


def summary_tables(trace: Trace) -> list[Table]:
    """One table for each kind of attention in the trace."""
    return [_table(trace.model, stack) for stack in trace.stacks.values()]


def _table(model: str, stack: Stack) -> Table:
    """Means over heads and queries; every column but the first two is a share of the attention."""
    queries, keys = len(stack.query_text), len(stack.key_text)
    size = f"{queries} {stack.level}s" if stack.name != "cross" else f"{queries} queries, {keys} keys"
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
