"""Two models on one corpus: what differs in their attention, and their two spaces."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.heads import HeadRef
from eyeline.measure.compare.options import CompareFacts
from eyeline.measure.runs.run import Run, remove_kind, write_parts
from eyeline.measure.runs.table import Table, heads_of_rows
from eyeline.measure.space.result import SPACE, Space, open_space, save_space
from eyeline.storage.files import as_path, latest

#: The files of the two spaces in the folder of the run.
FILES = ("compare-a.safetensors", "compare-b.safetensors")
#: The largest possible Jensen–Shannon divergence, in nats.
LARGEST_DIVERGENCE = math.log(2)


@dataclass(frozen=True)
class DivergenceSummary:
    """The mean divergence over heads, the largest, and its head. In nats."""

    mean: float
    largest: float
    head: HeadRef


def summarise_divergence(table: Table) -> DivergenceSummary:
    """How far two models lie apart, of the table `compare`."""
    js = table["js"].astype(float)  # [head]
    index = int(np.nanargmax(js))
    return DivergenceSummary(float(np.nanmean(js)), float(js[index]), heads_of_rows(table)[index])


def largest_first(table: Table) -> list[dict[str, Any]]:
    """The rows of the table `compare`, the largest divergence first."""
    return sorted(table.rows(), key=lambda row: -float(row["js"]))


def compared_targets(table: Table) -> list[str]:
    """The targets of average attention whose change the table `compare` holds."""
    return [name.removesuffix("_change") for name in table.columns if name.endswith("_change") and name != "entropy_change"]


@dataclass(frozen=True)
class Comparison:
    """A row for each head that both models have (`table`), its facts, and the two spaces of the same texts, where there are any.

    Columns of the table: js, the mean Jensen–Shannon divergence between the two models' attention in nats; entropy_change and a change for
    each target of average attention, of the second model against the first.
    """

    run: Run
    spaces: tuple[Space, Space] | None = field(default=None, repr=False)

    @property
    def table(self) -> Table:
        return self.run.table("compare")

    @property
    def facts(self) -> CompareFacts:
        return self.run.facts.of_kind(CompareFacts)

    def save(self, folder: str | Path) -> Path:
        """Write the run's tables and the two spaces; the folder. `el.runs.write_report(folder)` adds figures and report.html."""
        spaces = dict(zip(FILES, self.spaces or (), strict=False))
        files = {name: partial(save_space, space) for name, space in spaces.items()}
        write_parts(as_path(folder), self.run.sections, files)
        if not spaces:
            for name in FILES:  # of a comparison that was replaced
                remove_kind(as_path(folder) / name, SPACE)
        return as_path(folder)


def comparison_in(folder: Path, run: Run) -> Comparison:
    """The comparison in a folder that holds it alone, with its two spaces where there are any."""
    first, second = (latest(folder, folder / name) for name in FILES)
    return Comparison(run, (open_space(first), open_space(second)) if first.is_file() and second.is_file() else None)
