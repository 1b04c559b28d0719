"""A tiny model in a folder, a corpus in shards and batches of eight, and statistics that break the worker that reads a certain word."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar

import pytest

import eyeline as el
from eyeline.measure.statistics import loop
from eyeline.models import tracing as tracing_module
from tests.laws.statistics import new_tiny_model

#: 60 documents: seven shards of eight, and one of four.
TEXTS = [f"the cat sat on the mat . {'a dog ran home , ' * (i % 6)} very long" for i in range(60)]
POISON = 21
POISONED = [text if i != POISON else "it purred on the mat ." for i, text in enumerate(TEXTS)]


class Deadly(el.statistics.Entropy):
    """Kills the process that computes a text with "purred"."""

    name: ClassVar[str] = "deadly"

    def finish(self, batch: el.statistics.Batch) -> None:
        if any("purred" in example.source.sources[0] for example in batch.examples):
            os.kill(os.getpid(), signal.SIGKILL)


class Breaking(el.statistics.Entropy):
    """Raises an error at a text with "purred"."""

    name: ClassVar[str] = "breaking"

    def finish(self, batch: el.statistics.Batch) -> None:
        if any("purred" in example.source.sources[0] for example in batch.examples):
            raise RuntimeError("a kernel was launched with a bad argument")


def saved_model(folder: Path) -> Path:
    """A folder that `el.load` opens, in every process."""
    model = new_tiny_model()
    model.hf.save_pretrained(folder)
    assert model.tokenizer is not None
    model.tokenizer.save_pretrained(folder)
    return folder


def statistics() -> list[el.statistics.Statistic]:
    return [el.statistics.AverageAttention(), el.statistics.Entropy(), el.statistics.HeadDistances(), el.statistics.Importance()]


@contextmanager
def small_shards() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(loop, "GROUP", 8)
        patch.setattr(loop, "GROUP", 8)
        patch.setattr(loop, "SAVE_EVERY", 0.0)
        patch.setattr(tracing_module, "BATCH_TEXTS", 8)
        yield


def importable_tests(patch: pytest.MonkeyPatch) -> None:
    """Let the processes that are started from here import these tests, however the tests themselves were started."""
    root = str(Path(__file__).parents[3])
    patch.setenv("PYTHONPATH", os.pathsep.join([root, *filter(None, [os.environ.get("PYTHONPATH")])]))


def exact(run: el.Run) -> dict[str, str]:
    """Every number of a run, to the last bit."""
    return {
        name: repr([[cell.hex() if isinstance(cell, float) else cell for cell in row.values()] for row in table.rows()])
        for name, table in run.tables.items()
    }
