"""Two models on one corpus: what differs in their attention, and their two spaces."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

from eyeline.results.facts import RunFacts
from eyeline.results.folder import write_parts
from eyeline.results.run import Run
from eyeline.results.space.file import save_space
from eyeline.results.space.space import Space
from eyeline.results.table import Table

#: The files of the two spaces in the folder of the run.
FILES = ("compare-a.safetensors", "compare-b.safetensors")


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
    def facts(self) -> RunFacts:
        return self.run.facts

    def save(self, folder: str | Path) -> Path:
        """Write the run's tables and the two spaces; the folder. `el.runs.write_report(folder)` adds figures and report.html."""
        spaces = dict(zip(FILES, self.spaces or (), strict=False))
        files = {name: partial(save_space, space, vectors=False) for name, space in spaces.items()}
        write_parts(Path(folder), self.run.sections, files)
        if not spaces:
            for name in FILES:  # of a comparison that was replaced
                (Path(folder) / name).unlink(missing_ok=True)
        return Path(folder)
