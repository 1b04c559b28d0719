"""Tables of runs that earlier versions wrote: columns and values under their names of today."""

from __future__ import annotations

from collections.abc import Mapping

from eyeline.results.grammar.directions import DEPENDENT_TO_GOVERNOR, GOVERNOR_TO_DEPENDENT
from eyeline.results.table import Cell, Table

#: Table → column → its name of today.
COLUMNS: Mapping[str, Mapping[str, str]] = {"coreference_example": {"place": "index"}}
#: Values of the column `direction` → those of today: until 0.2 a governor was called a head.
DIRECTIONS: Mapping[Cell, str] = {"dependent-to-head": DEPENDENT_TO_GOVERNOR, "head-to-dependent": GOVERNOR_TO_DEPENDENT}
#: The tables with such a column.
WITH_DIRECTIONS = ("syntax", "syntax_heads", "syntax_examples", "probe_weights")


def with_names_of_today(name: str, table: Table) -> Table:
    """The table of this name as this version would write it.

    >>> with_names_of_today("syntax", Table({"direction": ["dependent-to-head"]})).columns
    {'direction': ['dependent-to-governor']}
    """
    names = COLUMNS.get(name, {})
    columns = {names.get(column, column): cells for column, cells in table.columns.items()}
    if name in WITH_DIRECTIONS and "direction" in columns:
        columns["direction"] = [DIRECTIONS.get(value, value) for value in columns["direction"]]
    return Table(columns)
