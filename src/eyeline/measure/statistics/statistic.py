"""A statistic: sums over the rows of attention of a corpus; with the key of each sum, and the texts of a batch as statistics see them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np
import torch

from eyeline.errors import TraceError
from eyeline.heads import STACKS
from eyeline.measure.runs.table import Table, head_table
from eyeline.measure.statistics.rows import Rows, numbers_on
from eyeline.messages import Message
from eyeline.models.inputs import send
from eyeline.text.tokenized import TokenizedText

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from eyeline.models.inputs import Example
    from eyeline.models.model import Model


@dataclass(frozen=True)
class SumKey:
    """Which sum of a statistic this is. Only here it is written as text and read back.

    stack, layer   of which attention; a sum over all of them has the stack "all" and layer 0
    quantity       what is summed: entropy, mean, distance, …
    details        what the columns of the sum stand for, such as the targets of average attention

    >>> str(SumKey("encoder", 3, "mean", ("cls", "sep")))
    'encoder.3.cls,sep.mean'
    >>> SumKey.parse("encoder.3.cls,sep.mean") == SumKey("encoder", 3, "mean", ("cls", "sep"))
    True
    """

    stack: str
    layer: int
    quantity: str
    details: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.stack}.{self.layer}.{','.join(self.details)}.{self.quantity}"

    @classmethod
    def parse(cls, text: str) -> Self:
        """Read the text of a key back; ValueError where it is none."""
        stack, layer, rest = text.split(".", 2)
        details, quantity = rest.rsplit(".", 1)
        return cls(stack, int(layer), quantity, tuple(details.split(",")) if details else ())


@dataclass(frozen=True)
class LayerSum:
    """A sum of one layer. values: [head, …]."""

    key: SumKey
    values: np.ndarray

    @property
    def stack(self) -> str:
        return self.key.stack

    @property
    def layer(self) -> int:
        return self.key.layer

    @property
    def details(self) -> tuple[str, ...]:
        return self.key.details


# ---- Statistic


#: The sum that counts the texts that a statistic leaves out.
LEFT_OUT = SumKey("all", 0, "left_out", ("texts",))

#: The most sums that wait on a device.
MOST_WAITING = 4096


class Statistic(ABC):
    """The base class of every statistic: sums over a corpus that can be merged and saved, and the tables that follow from them.

    To write one, give it a `name`, and write `update` and `result`; if its __init__ takes arguments, `options` returns them.
    All that it holds is sums in float64 (or maxima: `combine`), so that merging is addition: parts merged equal the whole, in any order,
    an empty one changes nothing, and its state is the sums themselves.
    """

    name: ClassVar[str]
    #: Whether `update` uses rows; False for a statistic that runs the model itself, in `finish`.
    from_rows: ClassVar[bool] = True
    #: How values are added to a sum, and sums merged: addition, or another operation whose order does not matter.
    combine: ClassVar[np.ufunc] = np.add
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
        self.flush()
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
        self.flush()
        for key, values in other.sums.items():
            self._sums[key] = self.combine(self._sums[key], values) if key in self._sums else values.copy()

    def state(self) -> dict[str, np.ndarray]:
        """The sums, to be kept on disk."""
        return {str(key): values.copy() for key, values in self.sums.items()}

    def from_state(self, arrays: Mapping[str, np.ndarray]) -> Self:
        """A statistic with these options and the sums that `state` gave."""
        restored = self.fresh()
        restored._sums = {SumKey.parse(name): np.array(values, dtype=np.float64) for name, values in arrays.items()}
        return restored

    def add(self, key: SumKey, values: np.ndarray | torch.Tensor, heads: range) -> None:
        """Add values [head of `heads`, …] to a sum; heads not seen yet are zero. Tensors wait for `flush`."""
        if isinstance(values, torch.Tensor):
            self._on_device.append((key, heads, values))
            if not values.is_cuda or len(self._on_device) >= MOST_WAITING:  # a CPU gains nothing by waiting
                self.flush()
            return
        if np.isnan(values).any():
            raise TraceError(
                f"{self.name} of layer {key.layer} ({key.stack}) is not a number (nan) for some of the texts.",
                Message("refusal.damaged"),
                Message("refusal.load_float32"),
            )
        size = heads.stop
        if key not in self._sums or len(self._sums[key]) < size:
            nothing = 0.0 if self.combine is np.add else -np.inf
            grown = np.full((size, *values.shape[1:]), nothing, dtype=np.float64)
            if key in self._sums:
                grown[: len(self._sums[key])] = self._sums[key]
            self._sums[key] = grown
        part = self._sums[key][heads.start : heads.stop]
        self.combine(part, values, out=part)

    def flush(self) -> None:
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


# ---- Batch


T = TypeVar("T")

#: The roles that a tokeniser may give to the tokens it adds, in the order in which a token takes its name.
ROLES = ("cls", "sep", "bos", "eos")


@dataclass(frozen=True)
class Batch:
    """Texts that went through the model together.

    examples   the tokens of each text
    roles   name → token id of the special tokens that this tokeniser adds: cls, sep, bos, eos
    layers  the layers of each stack that count; None: all
    """

    examples: tuple[Example, ...]
    roles: Mapping[str, int]
    device: torch.device | str = "cpu"
    layers: Mapping[str, tuple[int, ...]] | None = None
    _memo: dict[Hashable, Any] = field(default_factory=dict, repr=False, compare=False)

    def texts(self, stack: str) -> list[tuple[TokenizedText, TokenizedText]]:
        """The query and key texts of a stack."""
        return [example.of(stack) for example in self.examples]

    def lengths(self, stack: str) -> torch.Tensor:
        """The number of queries of each text, float64."""
        return self.once(
            ("lengths", stack),
            lambda: send(np.array([len(queries) for queries, _ in self.texts(stack)], np.float64), self.device),
        )

    def up_to(self, longest: int) -> Batch:
        """The texts of at most `longest` tokens."""
        kept = [i for i, example in enumerate(self.examples) if max(len(example.source), len(example.target or ())) <= longest]
        if len(kept) == len(self.examples):
            return self
        return Batch(tuple(self.examples[i] for i in kept), self.roles, self.device, self.layers)

    def once(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, computed once for the batch: every layer needs the same."""
        if key not in self._memo:
            self._memo[key] = make()
        return self._memo[key]  # type: ignore[no-any-return]


def roles_of(tokenizer: PreTrainedTokenizerBase) -> dict[str, int]:
    """The special tokens that this tokeniser adds to a text, under the name it gives them itself: BERT cls and sep, Llama bos, T5 eos."""
    added = set(tokenizer("a").input_ids) - set(tokenizer("a", add_special_tokens=False).input_ids)
    roles: dict[str, int] = {}
    for role in ROLES:
        number: int | None = getattr(tokenizer, f"{role}_token_id", None)
        if number is not None and number in added and number not in roles.values():
            roles[role] = int(number)
    return roles
