"""Every figure of a run: which exist, which a run has tables for, and drawing one by its name."""

from __future__ import annotations

from typing import TYPE_CHECKING

from eyeline.capture.stack import STACKS
from eyeline.errors import TraceError, nearest
from eyeline.plots import compare
from eyeline.plots.causes import circuit, effects, faithfulness, patching, pruning, sharpness
from eyeline.plots.clickable_cells import with_clickable_cells
from eyeline.plots.coreference import coreference, coreference_example, coreference_heads
from eyeline.plots.corpus import average_attention, distances, entropy, head_map, importance
from eyeline.plots.figure import Figure
from eyeline.plots.grammar import syntax, syntax_examples
from eyeline.plots.probes import probe_parses, probe_weights, probes, probes_learning
from eyeline.plots.space import space, space_pairs
from eyeline.plots.stacks import tables_of
from eyeline.plots.style import Style
from eyeline.results.run import Run, check_run
from eyeline.words import Words, check_language

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: The records of all figures by name, in reading order.
FIGURES: dict[str, Figure] = {
    module.FIGURE.name: module.FIGURE
    for module in (
        average_attention, entropy, importance, effects, sharpness, pruning, faithfulness, head_map,
        distances, syntax, syntax_examples, coreference, coreference_heads,
        coreference_example, probes, probes_learning, probe_weights, probe_parses, space, space_pairs, compare, patching,
        circuit,
    )
}  # fmt: skip


def available(run: Run) -> list[str]:
    """The figures that this run's tables allow, in reading order; one for each stack where each stack has its own table."""
    return [f"{name}_{stack}" if stack else name for name, record in FIGURES.items() for stack in tables_of(run, record.table)]


def record_of(name: str) -> tuple[Figure, str]:
    """The record of a figure, and the stack that its name ends in.

    >>> record, stack = record_of("head_map_cross")
    >>> record.name, stack
    ('head_map', 'cross')
    """
    base, _, stack = name.rpartition("_")
    if base in FIGURES and stack in STACKS:
        return FIGURES[base], stack
    if name not in FIGURES:
        raise TraceError(f"No figure is named {name!r}.", nearest(name, FIGURES))
    return FIGURES[name], ""


def figure(run: Run, name: str, style: Style | None = None, language: str = "en") -> go.Figure:
    """Draw one figure of a run; in a run of several kinds, from the part that has its table, so that its provenance is right.

    Of an encoder-decoder model `head_map_cross` is the map of one stack, `head_map` that of the first.

    language   of its titles and labels, where no style is given: en, ja or ko
    """
    check_run(run)
    check_language(language)
    style = style or Style(Words(language))
    record, stack = record_of(name)
    tables = tables_of(run, record.table)
    if not tables or (stack and stack not in tables):
        run.table(record.table + (f"_{stack}" if stack else ""))
        raise TraceError(f"The table {record.table} of this run is empty.", "There is nothing to draw.")
    part = next(part for part in run.parts.values() if tables_of(part, record.table))
    drawing = record.draw(part, style, stack)
    return with_clickable_cells(drawing) if style.clickable and record.clickable == "cells" else drawing
