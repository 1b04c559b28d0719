"""Every figure of a run by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from eyeline.errors import TraceError, nearest
from eyeline.results.run import Run
from eyeline.results.table import Table

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
    "coreference": "coreference",
    "coreference_heads": "coreference_heads",
    "coreference_example": "coreference_example",
    "probes": "probes",
    "probes_curve": "probes_curve",
    "probe_weights": "probe_weights",
    "space": "space",
    "space_pairs": "space_pairs",
    "compare": "compare",
}
#: Figure → the folder that holds its module.
ROOMS = {
    name: room
    for room, names in {
        "corpus.": ("average_attention", "entropy", "importance", "head_map", "distances"),
        "grammar.": ("syntax", "syntax_examples"),
        "coreference.": ("coreference", "coreference_heads", "coreference_example"),
        "probes.": ("probes", "probes_curve", "probe_weights"),
        "space.": ("space", "space_pairs"),
        "": ("compare",),
    }.items()
    for name in names
}
#: A table of one stack of an encoder-decoder model bears its name.
STACKS = ("encoder", "decoder", "cross")


def available(run: Run) -> list[str]:
    """The figures that this run's tables allow, in reading order; one for each stack where the tables are a stack's own."""
    found = []
    for name, table in FIGURES.items():
        stacks = list(tables_of(run, table))
        found += [f"{name}_{stack}" if stack else name for stack in stacks]
    return found


def in_stack(name: str) -> tuple[str, str]:
    """A figure's name without its stack, and the stack.

    >>> in_stack("head_map_cross"), in_stack("head_map")
    (('head_map', 'cross'), ('head_map', ''))
    """
    plain, _, stack = name.rpartition("_")
    return (plain, stack) if plain in FIGURES and stack in STACKS else (name, "")


def tables_of(run: Run, name: str) -> dict[str, Table]:
    """The tables of that name, by stack: one without a stack's name, or one for each stack. Empty tables are left out."""
    found = {"": run.tables[name]} if name in run.tables else {}
    found |= {stack: run.tables[f"{name}_{stack}"] for stack in STACKS if f"{name}_{stack}" in run.tables}
    return {stack: table for stack, table in found.items() if len(table)}


def figure(run: Run, name: str) -> go.Figure:
    """Draw one figure of a run; of a run of several kinds, from the part that has its table, so that it says where it comes from.

    Of an encoder-decoder model `head_map_cross` is the map of one stack, `head_map` that of the first.
    """
    plain, stack = in_stack(name)
    if plain not in FIGURES:
        raise TraceError(f"No figure is named {name!r}.", nearest(name, FIGURES))
    found = tables_of(run, FIGURES[plain])
    if not found or (stack and stack not in found):
        run.table(FIGURES[plain] + (f"_{stack}" if stack else ""))
        raise TraceError(f"The table {FIGURES[plain]} of this run is empty.", "There is nothing to draw.")
    run = next(part for part in run.parts.values() if tables_of(part, FIGURES[plain]))
    draw = getattr(importlib.import_module(f"eyeline.plots.{ROOMS[plain]}{plain}"), plain)
    drawn: go.Figure = draw(run, stack) if stack else draw(run)
    return drawn
