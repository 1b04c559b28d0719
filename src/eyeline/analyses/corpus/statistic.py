"""What every statistic is: sums that are fed rows of attention, can be added to each other, saved, and read out as tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows
from eyeline.errors import TraceError
from eyeline.results.table import Table

if TYPE_CHECKING:
    from eyeline.models.model import Model

#: The sum that counts the texts that a statistic leaves out.
LEFT_OUT = "all.0.texts.left_out"


class Statistic(ABC):
    """A number for each head that a corpus adds up to.

    All that it holds is sums in float64 under names such as `encoder.3.mass`, so that merging is addition: parts merged equal the
    whole, in any order, an empty one changes nothing, and its state is the sums themselves.
    """

    name: ClassVar[str]
    #: Whether it is fed rows; one that runs the model itself, in `finish`, is not.
    from_rows: ClassVar[bool] = True
    #: Whether rows without weights of their own (long texts through a fused kernel) cannot answer it.
    needs_weights: bool = False

    def __init__(self) -> None:
        self.sums: dict[str, np.ndarray] = {}

    @abstractmethod
    def update(self, rows: Rows, batch: Batch) -> None:
        """Take in some rows of one layer. A text's rows may come in any number of pieces."""

    @abstractmethod
    def result(self) -> dict[str, Table]:
        """The tables that the sums make: name → table. An empty statistic gives empty tables."""

    @abstractmethod
    def options(self) -> dict[str, object]:
        """What this statistic was asked for, as JSON: two can be merged where these agree."""

    @abstractmethod
    def fresh(self) -> Self:
        """An empty statistic with the same options."""

    def prepare(self, model: Model, seed: int) -> None:  # noqa: B027 - most need nothing
        """Called before a run: an error here leaves this statistic out, and the others go on."""

    def batch_tokens(self, model: Model) -> int | None:
        """The most tokens of a batch that this statistic can hold; None: any number."""
        return None

    def finish(self, batch: Batch) -> None:  # noqa: B027 - most have nothing left to do
        """Called when every layer of the batch has passed."""

    def leave_out(self, n_texts: int) -> None:
        """Count texts that were read but are not in this statistic."""
        self.add(LEFT_OUT, np.array([float(n_texts)]), range(1), 1)

    def n_left_out(self) -> int:
        return int(self.sums[LEFT_OUT][0]) if LEFT_OUT in self.sums else 0

    def merge(self, other: Statistic) -> None:
        """Take in the sums of another statistic of the same kind and options."""
        if type(other) is not type(self) or other.options() != self.options():
            raise TraceError(
                f"{other.name} with options {other.options()} cannot be merged into {self.name} with options {self.options()}.",
                "Merge statistics that were asked for the same.",
            )
        for name, values in other.sums.items():
            self.sums[name] = self.sums[name] + values if name in self.sums else values.copy()

    def state(self) -> dict[str, np.ndarray]:
        """The sums, to be kept on disk."""
        return {name: values.copy() for name, values in self.sums.items()}

    def from_state(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """A statistic with these options and the sums that `state` gave."""
        made = self.fresh()
        made.sums = {name: np.array(values, dtype=np.float64) for name, values in arrays.items()}
        return made

    def add(self, name: str, values: np.ndarray, at: range, size: int) -> None:
        """Add values [head of `at`, …] to a sum of `size` heads; heads that have not come yet stand at zero."""
        if name not in self.sums or len(self.sums[name]) < size:
            grown = np.zeros((size, *values.shape[1:]), dtype=np.float64)
            if name in self.sums:
                grown[: len(self.sums[name])] = self.sums[name]
            self.sums[name] = grown
        self.sums[name][at.start : at.stop] += values

    def by_layer(self, what: str) -> list[tuple[str, int, str, np.ndarray]]:
        """(stack, layer, detail, sums) of every sum named stack.layer.detail.what: encoder, decoder, cross, layers ascending."""
        order = {"encoder": 0, "decoder": 1, "cross": 2}
        found = []
        for name, values in self.sums.items():
            stack, layer, detail, kind = name.split(".")
            if kind == what:
                found.append((stack, int(layer), detail, values))
        return sorted(found, key=lambda one: (order[one[0]], one[1]))
