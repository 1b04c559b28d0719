"""The name of one sum of a statistic, and the only place where it is written as text and read back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np


@dataclass(frozen=True)
class SumKey:
    """Which sum this is.

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
