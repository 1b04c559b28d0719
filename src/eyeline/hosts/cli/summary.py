"""A trace in the terminal: per layer, how broad its attention is and where it goes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import numpy as np
from rich.markup import escape
from rich.table import Table

from eyeline.capture.stack import Stack
from eyeline.capture.trace import Trace
from eyeline.measures.focus import entropy
from eyeline.measures.targets import mass_at_offset, mass_on
from eyeline.text.printable import printable

Measure = Callable[[np.ndarray], np.ndarray]


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
    columns = _columns(stack)
    for name, _ in columns:
        table.add_column(name, justify="right")
    table.add_column("most attended")
    for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=True):
        received = weights.mean(axis=(0, 1))  # [key]
        top = int(received.argmax())
        shares = (float(measure(weights).mean()) for _, measure in columns)
        shown = escape(printable(stack.key_text.tokens[top]))
        table.add_row(
            str(layer), f"{np.nanmean(entropy(weights)):.2f} nats", *(f"{share:.1%}" for share in shares), f"{shown} {received[top]:.1%}"
        )
    return table


def _columns(stack: Stack) -> list[tuple[str, Measure]]:
    """The places to look at: neighbours where queries and keys are one text, special tokens where there are some, else the first."""
    special = np.array(stack.key_text.special)
    columns: list[tuple[str, Measure]] = []
    if stack.name != "cross":
        for name, offset in (("previous", -1), ("self", 0), ("next", 1)):
            if name != "next" or stack.name == "encoder":
                columns.append((name, partial(mass_at_offset, offset=offset)))
    first = np.arange(len(special)) == 0
    columns.append((f"first {stack.level}", partial(mass_on, columns=first)))
    if special.any():
        columns.append(("special", partial(mass_on, columns=special)))
    return columns
