"""Every figure of a run by name."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING

from sightline.errors import TraceError, nearest
from sightline.results.run import Run

if TYPE_CHECKING:
    import plotly.graph_objects as go

#: Figure → the table that it draws; the function of that name is in the module of that name.
FIGURES = {
    "average_attention": "average_attention",
    "entropy": "entropy",
}


def available(run: Run) -> list[str]:
    """The figures that this run's tables allow, in reading order."""
    return [name for name, table in FIGURES.items() if table in run.tables and len(run.tables[table])]


def figure(run: Run, name: str) -> go.Figure:
    """Draw one figure of a run."""
    if name not in FIGURES:
        raise TraceError(f"No figure is named {name!r}.", nearest(name, FIGURES))
    run.table(FIGURES[name])
    drawn: go.Figure = getattr(importlib.import_module(f"sightline.plots.{name}"), name)(run)
    return drawn
