"""The name of one attention head: which stack, layer and head it is, and how it is printed."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

_LABEL = re.compile(r"(?:(?P<stack>encoder|decoder|cross) )?L(?P<layer>\d+)·H(?P<head>\d+)")


class HeadRef(NamedTuple):
    """One head of a model. Layers and heads count from 0; `stack` is empty where the model has only one.

    >>> HeadRef("cross", 3, 7)
    HeadRef(stack='cross', layer=3, head=7)
    >>> print(HeadRef("cross", 3, 7), HeadRef("cross", 3, 7).full_label)
    L3·H7 cross L3·H7
    """

    stack: str
    layer: int
    head: int

    def __str__(self) -> str:
        return f"L{self.layer}·H{self.head}"

    @property
    def full_label(self) -> str:
        """The label with the stack in front, where there is one."""
        return f"{self.stack} {self}".strip()

    @classmethod
    def parse(cls, label: str) -> Self:
        """Read a label back.

        >>> HeadRef.parse("L3·H7"), HeadRef.parse("cross L3·H7").stack
        (HeadRef(stack='', layer=3, head=7), 'cross')
        """
        match = _LABEL.fullmatch(label)
        if match is None:
            raise ValueError(f"{label!r} is not the label of a head, such as L3·H7.")
        return cls(match["stack"] or "", int(match["layer"]), int(match["head"]))
