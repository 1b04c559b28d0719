"""Figures of a run and the graph of a head, drawn and saved: `eyeline.figures.save_figure(run, "entropy", "entropy.png")`.

Which figures exist, which a run has tables for, and drawing one by its name.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from eyeline.errors import TraceError, nearest
from eyeline.heads import STACKS
from eyeline.look.views.graph import AttentionGraph, attention_graph
from eyeline.measure.causes.figures import (
    CIRCUIT_FIGURE,
    EFFECTS_FIGURE,
    FAITHFULNESS_FIGURE,
    PATCHING_FIGURE,
    PRUNING_FIGURE,
    SHARPNESS_FIGURE,
)
from eyeline.measure.compare.figures import COMPARE_FIGURE
from eyeline.measure.coreference.figures import COREFERENCE_EXAMPLE_FIGURE, COREFERENCE_FIGURE, COREFERENCE_HEADS_FIGURE
from eyeline.measure.corpus.figures import AVERAGE_ATTENTION_FIGURE, DISTANCES_FIGURE, ENTROPY_FIGURE, HEAD_MAP_FIGURE, IMPORTANCE_FIGURE
from eyeline.measure.grammar.figures import SYNTAX_EXAMPLES_FIGURE, SYNTAX_FIGURE
from eyeline.measure.probes.figures import PROBE_PARSES_FIGURE, PROBE_WEIGHTS_FIGURE, PROBES_FIGURE, PROBES_LEARNING_FIGURE
from eyeline.measure.runs.figure import Figure, Style, tables_of, with_clickable_cells
from eyeline.measure.runs.pictures import save_pictures
from eyeline.measure.runs.run import Run, check_run
from eyeline.measure.space.figures import SPACE_FIGURE, SPACE_PAIRS_FIGURE
from eyeline.measure.training.figures import TRAINING_FIGURE
from eyeline.storage.files import as_path
from eyeline.words import Words, check_language

if TYPE_CHECKING:
    import plotly.graph_objects as go

__all__ = ["AttentionGraph", "attention_graph", "figure", "save_figure"]

#: The records of all figures by name, in reading order.
FIGURES: dict[str, Figure] = {
    record.name: record
    for record in (
        AVERAGE_ATTENTION_FIGURE,
        ENTROPY_FIGURE,
        IMPORTANCE_FIGURE,
        EFFECTS_FIGURE,
        SHARPNESS_FIGURE,
        PRUNING_FIGURE,
        FAITHFULNESS_FIGURE,
        HEAD_MAP_FIGURE,
        DISTANCES_FIGURE,
        SYNTAX_FIGURE,
        SYNTAX_EXAMPLES_FIGURE,
        COREFERENCE_FIGURE,
        COREFERENCE_HEADS_FIGURE,
        COREFERENCE_EXAMPLE_FIGURE,
        PROBES_FIGURE,
        PROBES_LEARNING_FIGURE,
        PROBE_WEIGHTS_FIGURE,
        PROBE_PARSES_FIGURE,
        SPACE_FIGURE,
        SPACE_PAIRS_FIGURE,
        COMPARE_FIGURE,
        PATCHING_FIGURE,
        CIRCUIT_FIGURE,
        TRAINING_FIGURE,
    )
}


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


def figure(run: Run, name: str, style: Style | None = None, language: str = "en", color: str = "") -> go.Figure:
    """Draw one figure of a run; in a run of several kinds, from the part that has its table, so that its provenance is right.

    Of an encoder-decoder model `head_map_cross` is the map of one stack, `head_map` that of the first.

    language   of its titles and labels, where no style is given: en, ja or ko
    color      what the colour of a head means in `head_map`: role (the default), layer, entropy, position, or a target of
               average attention (cls, sep …)
    """
    check_run(run)
    check_language(language)
    style = style or Style(Words(language))
    style = replace(style, colour=color) if color else style
    record, stack = record_of(name)
    tables = tables_of(run, record.table)
    if not tables or (stack and stack not in tables):
        run.table(record.table + (f"_{stack}" if stack else ""))
        raise TraceError(f"The table {record.table} of this run is empty.", "There is nothing to draw.")
    part = next(part for part in run.parts.values() if tables_of(part, record.table))
    check_colour(record, part, style.colour)
    drawing = record.draw(part, style, stack)
    return with_clickable_cells(drawing) if style.clickable and record.clickable == "cells" else drawing


def check_colour(record: Figure, run: Run, colour: str) -> None:
    """Refuse a colour that a figure cannot show of this run."""
    if colour and record.colours is None:
        raise TraceError(f"color={colour!r} for the figure {record.name}.", "The colours of head_map alone can be chosen.")
    if colour and record.colours is not None and colour not in (choices := record.colours(run)):
        raise TraceError(f"color={colour!r}: this run does not measure it.", nearest(colour, choices))


def save_figure(run: Run, name: str, path: str | Path, style: Style | None = None) -> None:
    """Draw one figure of a run into a .png, .svg or .pdf file, where a Chromium is present."""
    save_pictures({as_path(path): figure(run, name, style)})
