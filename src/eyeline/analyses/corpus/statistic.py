"""The base class of every statistic: sums over rows of attention that can be merged, saved, and turned into tables."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar, Self

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows, numbers_on
from eyeline.analyses.corpus.sums import LayerSum, SumKey
from eyeline.analyses.tables import head_table
from eyeline.capture.stack import STACKS
from eyeline.errors import TraceError
from eyeline.results.table import Table

if TYPE_CHECKING:
    from eyeline.models.model import Model

#: The sum that counts the texts that a statistic leaves out.
LEFT_OUT = SumKey("all", 0, "left_out", ("texts",))
#: The most sums that wait on a device.
MOST_WAITING = 4096


class Statistic(ABC):
    """Sums over a corpus, and the tables that follow from them.

    To write one, give it a `name`, and write `update` and `result`; if its __init__ takes arguments, `options` returns them.
    All that it holds is sums in float64, so that merging is addition: parts merged equal the whole, in any order, an empty one changes
    nothing, and its state is the sums themselves.
    """

    name: ClassVar[str]
    #: Whether `update` uses rows; False for a statistic that runs the model itself, in `finish`.
    from_rows: ClassVar[bool] = True
    #: Whether it calls `rows.weights()`, which rows of long texts through a fused kernel do not have.
    needs_weights: bool = False

    #: Whether it is about the model's answers: the example of a run then has a mask to answer at.
    about_answers: ClassVar[bool] = False

    def __init__(self) -> None:
        self._sums: dict[SumKey, np.ndarray] = {}
        self._on_device: list[tuple[SumKey, range, torch.Tensor]] = []

    @abstractmethod
    def update(self, rows: Rows, batch: Batch) -> None:
        """Add some rows of one layer. The rows of a text may come in any number of pieces."""

    @abstractmethod
    def result(self) -> dict[str, Table]:
        """The tables that follow from the sums: name → table. An empty statistic gives empty tables."""

    @property
    def sums(self) -> dict[SumKey, np.ndarray]:
        """Everything that was added so far."""
        self.settle()
        return self._sums

    def reads_weights(self, batch: Batch) -> bool:
        """Whether it will call `rows.weights()` for texts of this batch."""
        return self.needs_weights

    def key_sets(self, batch: Batch, stack: str) -> torch.Tensor | None:
        """The sets of keys that `update` needs, [text, key, set]: named before the pass, their masses come with a layer's output."""
        return None

    def options(self) -> dict[str, object]:
        """The arguments of __init__, as JSON: two statistics can be merged where these agree."""
        return {}

    def fresh(self) -> Self:
        """An empty statistic with the same options."""
        return type(self)(**self.options())

    def prepare(self, model: Model, seed: int) -> None:  # noqa: B027 - most need nothing
        """Called before a run: an error here leaves this statistic out, and the others go on."""

    def batch_tokens(self, model: Model) -> int | None:
        """The most tokens of a batch that this statistic can hold; None: any number."""
        return None

    def finish(self, batch: Batch) -> None:  # noqa: B027 - most have nothing left to do
        """Called when every layer of the batch has passed."""

    def add_row_means(self, quantity: str, values: torch.Tensor, rows: Rows) -> None:
        """Add a number for each row, values [text, head, row]: the mean over the rows of a text, then over texts. See `row_means`."""
        inside = rows.inside.to(values.dtype)  # [text, row], padding left out
        lengths = numbers_on(values.device, rows.n_queries).to(values.dtype)
        means = (values * inside[:, None]).sum(-1) / lengths[:, None]  # [text, head]
        sums = means.double().sum(0)  # [head]
        n_texts = torch.full_like(sums, float(len(rows.texts)) if rows.first == 0 else 0.0)
        self.add(SumKey(rows.stack, rows.layer, quantity), torch.stack([sums, n_texts], -1), rows.heads)

    def row_means(self, quantity: str, column: str | None = None) -> Table:
        """A row for each head: what `add_row_means` added up to, in a column of this name."""
        records = [
            (layer_sum.stack, layer_sum.layer, head, float(total / n_texts))
            for layer_sum in self.by_layer(quantity)
            for head, (total, n_texts) in enumerate(layer_sum.values)
        ]
        return head_table(records, (column or quantity,))

    def leave_out(self, n_texts: int) -> None:
        """Count texts that were read but are not in this statistic."""
        self.add(LEFT_OUT, np.array([float(n_texts)]), range(1))

    def n_left_out(self) -> int:
        return int(self.sums[LEFT_OUT][0]) if LEFT_OUT in self.sums else 0

    def merge(self, other: Statistic) -> None:
        """Add the sums of another statistic of the same kind and options."""
        if type(other) is not type(self) or other.options() != self.options():
            raise TraceError(
                f"{other.name} with options {other.options()} cannot be merged into {self.name} with options {self.options()}.",
                "Merge statistics of the same kind with the same options.",
            )
        self.settle()
        for key, values in other.sums.items():
            self._sums[key] = self._sums[key] + values if key in self._sums else values.copy()

    def state(self) -> dict[str, np.ndarray]:
        """The sums, to be kept on disk."""
        return {str(key): values.copy() for key, values in self.sums.items()}

    def from_state(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """A statistic with these options and the sums that `state` gave."""
        restored = self.fresh()
        restored._sums = {SumKey.parse(name): np.array(values, dtype=np.float64) for name, values in arrays.items()}
        return restored

    def add(self, key: SumKey, values: np.ndarray | torch.Tensor, heads: range) -> None:
        """Add values [head of `heads`, …] to a sum; heads not seen yet are zero. Tensors wait for `settle`."""
        if isinstance(values, torch.Tensor):
            self._on_device.append((key, heads, values))
            if not values.is_cuda or len(self._on_device) >= MOST_WAITING:  # a CPU gains nothing by waiting
                self.settle()
            return
        size = heads.stop
        if key not in self._sums or len(self._sums[key]) < size:
            grown = np.zeros((size, *values.shape[1:]), dtype=np.float64)
            if key in self._sums:
                grown[: len(self._sums[key])] = self._sums[key]
            self._sums[key] = grown
        self._sums[key][heads.start : heads.stop] += values

    def settle(self) -> None:
        """Add the sums that wait on a device, in the order in which they came: one copy for many batches, so that a GPU seldom waits."""
        waiting, self._on_device = self._on_device, []
        if not waiting:
            return
        numbers = torch.cat([values.double().flatten() for _, _, values in waiting]).cpu().numpy()
        start = 0
        for key, heads, values in waiting:
            self.add(key, numbers[start : start + values.numel()].reshape(values.shape), heads)
            start += values.numel()

    def by_layer(self, quantity: str) -> list[LayerSum]:
        """Every sum of this quantity: encoder, decoder, cross, layers ascending."""
        sums = [LayerSum(key, values) for key, values in self.sums.items() if key.quantity == quantity]
        return sorted(sums, key=lambda layer_sum: (STACKS.index(layer_sum.stack), layer_sum.layer))
