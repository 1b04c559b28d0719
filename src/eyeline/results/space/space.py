"""The space of queries and keys: what every head's picture is drawn from. Read, searched and drawn without torch."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from eyeline.capture.trace import Trace
from eyeline.errors import TraceError
from eyeline.results.facts import present
from eyeline.results.folder import write_parts
from eyeline.results.run import Run
from eyeline.results.space.ask import HeadPicture, Placed, SearchResult, project_head, search, transform_trace
from eyeline.results.space.file import ENDING, FILE, save_space
from eyeline.results.space.gauge_row import GaugeRow
from eyeline.results.space.record import AGREEMENT, SpaceRecord
from eyeline.results.table import Table
from eyeline.storage.names import as_path

#: Stack, layer, head, projection, gauge and seed of a picture.
PictureKey = tuple[str, int, int, str, str, int]


@dataclass(frozen=True, repr=False)
class Space(SpaceRecord):
    """A space of queries and keys, or values, that can be searched, projected, extended by new text, and saved. Fields: `SpaceRecord`."""

    _pictures: dict[PictureKey, HeadPicture] = field(default_factory=dict, init=False, repr=False, compare=False)

    def run(self) -> Run:
        """The tables of this space with its provenance, to be saved and reported as every run is."""
        tables = {"space": self.table()}
        if self.of == "shared":
            tables["space_shared"] = self.table(AGREEMENT)
        if self.gauges:
            columns_of = {name: [getattr(row, name) for row in self.gauges] for name in GaugeRow.__dataclass_fields__}
            tables["space_gauges"] = Table(columns_of)
        for stack in self.stacks.values():
            if stack.pairs:
                columns = {name: values.tolist() for name, values in stack.pairs.items()}
                tables["space_pairs" if len(self.stacks) == 1 else f"space_pairs_{stack.name}"] = Table(columns)
        return Run(present(self.facts, "model and corpus"), tables)

    def project_head(
        self, layer: int, head: int, how: str, *, gauge: str = "attentionviz", stack: str | None = None, seed: int = 0
    ) -> HeadPicture:
        """One head by pca, umap or tsne, with its fidelity: computed at first use, then kept. Values need no gauge."""
        key = (stack or self.only.name, layer, head, how, gauge, seed)
        if key not in self._pictures:
            self._pictures[key] = project_head(self, layer, head, how, gauge, stack, seed)
        return self._pictures[key]

    def search(
        self, token: int, side: str, *, layer: int, head: int, text: int | None = None, stack: str | None = None, top: int = 10
    ) -> list[SearchResult]:
        """Across all texts: side="key": the queries that would most attend to it; side="query": the keys it would most attend to.

        token   a row of the space, or with `text` a position in that text. The score is scale · q·(k − mean key), exact.
        """
        return search(self, token, side, layer, head, text, stack, top)

    def transform(self, trace: Trace, *, stack: str | None = None) -> Placed:
        """New text in the same pictures: `space.transform(model.trace("…"))`. For spaces that were fitted, freed or made by PCA."""
        return transform_trace(self, trace, stack)

    def save(self, path: str | Path, *, vectors: bool = True) -> Path:
        """Write the space, whole or not at all; the path. `el.open` reads it back, without torch.

        path      FILE.safetensors for the space alone; any other name is a folder, for its tables and facts too
        vectors   without them the file is some ten times smaller, and can be looked at but not searched or projected again
        """
        path = as_path(path)
        if path.suffix == ENDING:
            save_space(self, path, vectors=vectors)
        else:
            write_parts(path, self.run().sections, {FILE: lambda file: save_space(self, file, vectors=vectors)})
        return path


def check_space(space: object) -> None:
    """Refuse anything else where a view takes a space."""
    if not isinstance(space, Space):
        raise TraceError(
            f"A {type(space).__name__} where a space was expected.", "Compute one: el.space(model, corpus). Or open one: el.open(path)."
        )
