"""The name of one attention head: which stack, layer and head it is, and how it is printed; the names of directions between two words."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, NamedTuple, Self

STACKS = ("encoder", "decoder", "cross", "vision")

#: How a head is printed. Everything else that prints or reads a head follows from this line, in TypeScript too (scripts/generate.py).
FORM = "L{layer}·H{head}"

#: As part of the name of a file, and as the address of its page in a gallery (public since the first gallery: it has no hyphen).
FILE_FORM, PAGE_FORM = "L{layer}-H{head}", "L{layer}H{head}.html"

#: The label of a head with or without its stack, as a regular expression of Python.
PATTERN = rf"(?:(?P<stack>{'|'.join(STACKS)}) )?" + FORM.format(layer=r"(?P<layer>\d+)", head=r"(?P<head>\d+)")

#: The same as a regular expression of JavaScript.
PATTERN_OF_PAGES = PATTERN.replace("?P<", "?<")


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
        return FORM.format(layer=self.layer, head=self.head)

    @property
    def full_label(self) -> str:
        """The label with the stack in front, where there is one."""
        return f"{self.stack} {self}".strip()

    @property
    def file_name(self) -> str:
        """The label as part of a file's name.

        >>> HeadRef("", 3, 7).file_name, HeadRef("cross", 3, 7).file_name
        ('L3-H7', 'cross-L3-H7')
        """
        return f"{self.stack}-{FILE_FORM.format(layer=self.layer, head=self.head)}".lstrip("-")

    @property
    def page(self) -> str:
        """The address of its page in a gallery.

        >>> HeadRef("", 3, 7).page
        'L3H7.html'
        """
        return PAGE_FORM.format(layer=self.layer, head=self.head)

    @classmethod
    def of_row(cls, row: Mapping[str, Any], stack: str = "") -> Self:
        """The head that a row of a table is about. stack: of a table without a column for it.

        >>> HeadRef.of_row({"layer": 3, "head": 7, "mean": 0.5})
        HeadRef(stack='', layer=3, head=7)
        """
        return cls(str(row.get("stack", stack)), int(row["layer"]), int(row["head"]))

    @classmethod
    def parse(cls, label: str) -> Self:
        """Read a label back.

        >>> HeadRef.parse("L3·H7"), HeadRef.parse("cross L3·H7").stack
        (HeadRef(stack='', layer=3, head=7), 'cross')
        """
        match = re.fullmatch(PATTERN, label)
        if match is None:
            raise ValueError(f"{label!r} is not the label of a head, such as L3·H7.")
        return cls(match["stack"] or "", int(match["layer"]), int(match["head"]))


# ---- Directions of attention between two words, in the tables of grammar and coreference


#: Of a dependency: a word attends to its governor, or the governor to the word.
DEPENDENT_TO_GOVERNOR, GOVERNOR_TO_DEPENDENT = "dependent-to-governor", "governor-to-dependent"

ARC_DIRECTIONS = (DEPENDENT_TO_GOVERNOR, GOVERNOR_TO_DEPENDENT)

#: Of coreference: a mention attends to an earlier mention of the same thing, or the earlier one to it.
MENTION_TO_ANTECEDENT, ANTECEDENT_TO_MENTION = "mention-to-antecedent", "antecedent-to-mention"

MENTION_DIRECTIONS = (MENTION_TO_ANTECEDENT, ANTECEDENT_TO_MENTION)
