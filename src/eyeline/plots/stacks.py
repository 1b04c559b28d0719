"""Tables of one stack of attention, and tables with a column for the stack."""

from __future__ import annotations

from eyeline.capture.stack import STACKS
from eyeline.results.run import Run
from eyeline.results.table import Table


def tables_of(run: Run, name: str) -> dict[str, Table]:
    """The tables of that name, by stack: one without a stack, or one for each stack (head_map_cross). Empty tables are left out."""
    tables = {"": run.tables[name]} if name in run.tables else {}
    tables |= {stack: run.tables[f"{name}_{stack}"] for stack in STACKS if f"{name}_{stack}" in run.tables}
    return {stack: table for stack, table in tables.items() if len(table)}


def table_of(run: Run, name: str, stack: str) -> tuple[str, Table]:
    """The table of one stack, and the stack: the one that is named, or the first."""
    tables = tables_of(run, name)
    stack = stack or next(iter(tables))
    return stack, tables[stack]


def stacks_in(table: Table) -> list[str]:
    """The stacks in the column of a table, in order; one empty name where there is no such column."""
    return list(dict.fromkeys(map(str, table.columns["stack"]))) if "stack" in table.columns else [""]


def part_of(table: Table, stack: str) -> Table:
    """The rows of one stack; all rows where the table has no such column."""
    return table.where(stack=stack) if stack else table
