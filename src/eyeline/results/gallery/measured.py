"""The measurements behind the gallery's pages of one model, and their folder."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from eyeline.capture.trace import Trace
from eyeline.capture.trace_read import open_trace
from eyeline.results.run import Run, open_run

#: Which texts show a head: a table with its layer, head, rank, text, query, key, weight, and whether the key is a distant word.
EXAMPLES_TABLE = "head_examples"
EXAMPLE = "example-{}.safetensors"
#: A look weaker than this is not worth a sentence.
LEAST_LOOK = 0.1


@dataclass(frozen=True)
class MeasuredHeads:
    """A run of kinds analyse, syntax and coreference, and the traces of the example texts."""

    run: Run
    examples: tuple[Trace, ...]

    def save(self, folder: Path) -> None:
        """Write run and traces into a folder; `open_measured` reads them, without torch."""
        self.run.save(folder)
        for number, trace in enumerate(self.examples):
            trace.save(folder / EXAMPLE.format(number))


def open_measured(folder: Path) -> MeasuredHeads:
    """What `save` wrote."""
    run = open_run(folder)
    count = 1 + max(run.table(EXAMPLES_TABLE)["text"].astype(int).tolist())
    paths = [folder / EXAMPLE.format(number) for number in range(count)]
    return MeasuredHeads(run, tuple(open_trace(path) for path in paths if path.is_file()))
