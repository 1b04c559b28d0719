"""What a run found: its tables, and what they are the tables of. Read back from its folder without torch."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sightline.capture.storage import open_trace
from sightline.capture.trace import Trace
from sightline.errors import StorageError, TraceError, nearest
from sightline.results.table import Table, open_table

#: A run's files, within its folder.
ABOUT, TABLES, EXAMPLE = "run.json", "tables", "example.safetensors"


@dataclass(frozen=True)
class Run:
    """Tables by name (`run.table("entropy")`), figures of them (`run.figure("entropy")`), and provenance (`run.about`).

    example   the attention on one text of the corpus, to look at heads with
    """

    about: Mapping[str, Any]
    tables: Mapping[str, Table] = field(repr=False)
    example: Trace | None = field(default=None, repr=False)

    def __repr__(self) -> str:
        counts = self.about["counts"]
        return (
            f"<sightline run: {', '.join(self.tables)} of {self.about['model']['name']}"
            f" on {counts['texts']:,} texts, {counts['tokens']:,} tokens of {self.about['corpus']['name']}>"
        )

    def table(self, name: str) -> Table:
        if name not in self.tables:
            why = self.about.get("left_out", {}).get(name)
            raise TraceError(f"This run has no table {name!r}.", why or nearest(name, self.tables))
        return self.tables[name]

    def figure(self, name: str) -> Any:
        """A Plotly figure: average_attention, entropy, importance, head_map or distances."""
        from sightline.plots.figures import figure

        return figure(self, name)

    def save_figure(self, name: str, path: str | Path) -> None:
        """Draw one figure into a .png, .svg or .pdf file, where a Chromium is present."""
        from sightline.plots.pictures import save_pictures

        save_pictures({Path(path): self.figure(name)})

    def save(self, folder: str | Path) -> Path:
        """Write run.json, tables/*.csv, figures/*.html, views/*.html and report.html; the report's path."""
        from sightline.hosts.report import save_run

        return save_run(self, Path(folder))


def open_run(folder: str | Path) -> Run:
    """Read a run that `save` or `sightline analyse` wrote."""
    folder = Path(folder)
    try:
        about = json.loads((folder / ABOUT).read_text(encoding="utf-8"))
        names = about["tables"]
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise StorageError(
            f"{folder}: not a finished run ({error}).", "A run's folder is written by: sightline analyse CORPUS -o FOLDER"
        ) from error
    tables = {name: open_table(folder / TABLES / f"{name}.csv") for name in names}
    example = open_trace(folder / EXAMPLE) if (folder / EXAMPLE).is_file() else None
    return Run(about, tables, example)
