"""Tables with a row for each head."""

from __future__ import annotations

from collections.abc import Sequence

from eyeline.heads import HeadRef
from eyeline.results.table import Cell, Table


def head_table(records: Sequence[tuple[Cell, ...]], columns: Sequence[str]) -> Table:
    """Records (stack, layer, head, …) as a table; the column `stack` only where there are several."""
    names = ("stack", "layer", "head", *columns)
    several = len({record[0] for record in records}) > 1
    rows = [dict(zip(names, record, strict=True)) for record in records]
    return Table.from_rows(rows, names if several else names[1:])


def head_name(layer: int, head: int, stack: str = "") -> str:
    """L3·H7, with its stack before it where a model has several."""
    return HeadRef(stack, layer, head).full_label
