"""Every figure of a run by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from sightline.errors import TraceError, nearest
from sightline.results.run import Run
from sightline.results.table import Table

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Figure → the table that it draws (of an encoder-decoder model, table_stack); the function of that name is in the module of that name.
FIGURES = {
    "average_attention": "average_attention",
    "entropy": "entropy",
    "importance": "importance",
    "head_map": "head_map",
    "distances": "distances",
    "syntax": "syntax",
    "syntax_examples": "syntax_examples",
}
#: A table of one stack of an encoder-decoder model bears its name.
STACKS = ("encoder", "decoder", "cross")


def available(run: Run) -> list[str]:
    """The figures that this run's tables allow, in reading order."""
    return [name for name, table in FIGURES.items() if tables_of(run, table)]


def tables_of(run: Run, name: str) -> dict[str, Table]:
    """The tables of that name, by stack: one without a stack's name, or one for each stack. Empty tables are left out."""
    found = {"": run.tables[name]} if name in run.tables else {}
    found |= {stack: run.tables[f"{name}_{stack}"] for stack in STACKS if f"{name}_{stack}" in run.tables}
    return {stack: table for stack, table in found.items() if len(table)}


def figure(run: Run, name: str) -> go.Figure:
    """Draw one figure of a run; of a run of several kinds, from the part that has its table, so that it says where it comes from."""
    if name not in FIGURES:
        raise TraceError(f"No figure is named {name!r}.", nearest(name, FIGURES))
    if not tables_of(run, FIGURES[name]):
        run.table(FIGURES[name])
        raise TraceError(f"The table {FIGURES[name]} of this run is empty.", "There is nothing to draw.")
    run = next(part for part in run.parts.values() if tables_of(part, FIGURES[name]))
    drawn: go.Figure = getattr(importlib.import_module(f"sightline.plots.{name}"), name)(run)
    return drawn
