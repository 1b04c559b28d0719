"""A table: named columns of equal length, written as CSV, read back without pandas."""

from __future__ import annotations

import csv
import io
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any, Literal, get_args

import numpy as np

from eyeline.errors import EyelineError, StorageError, TraceError, nearest
from eyeline.heads import HeadRef
from eyeline.storage.files import write_whole
from eyeline.text.tokenized import printable

Cell = str | int | float

#: Characters that begin a formula in a spreadsheet; characters that may follow an apostrophe that we added.
FORMULA = frozenset("=+-@\t\r")

ESCAPED = FORMULA | {"'"}

#: What a column holds. run.json keeps it for every column, because a file of text does not say it.
ColumnType = Literal["integer", "number", "text"]

COLUMN_TYPES: tuple[ColumnType, ...] = get_args(ColumnType)

#: How whole numbers and others are spelled in our files; an unknown number is an empty cell. "007", "1_000" and "nan" are texts.
INTEGER = re.compile(r"-?(0|[1-9][0-9]*)")

NUMBER = re.compile(r"-?((0|[1-9][0-9]*)(\.[0-9]+)?(e[+-][0-9]+)?|inf)|")

#: How much of a table is printed: rows, and characters of a cell.
PRINTED_ROWS, PRINTED_CELL = 10, 24


@dataclass(frozen=True, repr=False)
class Table:
    """Columns by name, in order: `table["mean"]` is a NumPy array, `table.rows()` gives mappings; printed, it shows its first rows.

    >>> Table({"layer": [0, 1], "mean": [0.25, 0.5]}).to_csv()
    'layer,mean\\n0,0.25\\n1,0.5\\n'
    """

    columns: Mapping[str, Sequence[Cell]]

    @classmethod
    def from_rows(cls, rows: Sequence[Mapping[str, Any]], columns: Sequence[str] | None = None) -> Table:
        """A table of rows that all have the same columns; columns: their names, where there may be no rows.

        >>> Table.from_rows([{"layer": 0, "mean": 0.25}, {"layer": 1, "mean": 0.5}]).columns["mean"]
        [0.25, 0.5]
        """
        names = columns if columns is not None else list(rows[0]) if rows else []
        return cls({name: [row[name] for row in rows] for name in names})

    def __post_init__(self) -> None:
        lengths = {name: len(values) for name, values in self.columns.items()}
        if len(set(lengths.values())) > 1:
            raise TraceError(f"Columns of different lengths: {lengths}.")

    def __repr__(self) -> str:
        shown = [list(self.columns), *([_printed(cell) for cell in row.values()] for row in islice(self.rows(), PRINTED_ROWS))]
        widths = [max(map(len, column)) for column in zip(*shown, strict=True)]
        lines = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip() for line in shown]
        more = ["…"] if len(self) > PRINTED_ROWS else []
        return "\n".join([f"<table: {len(self):,} row{'' if len(self) == 1 else 's'}>", *lines, *more])

    def __len__(self) -> int:
        return len(next(iter(self.columns.values()), ()))

    def __getitem__(self, name: str) -> np.ndarray:
        if name not in self.columns:
            raise TraceError(f"No column {name!r} in this table.", nearest(name, self.columns))
        return np.asarray(self.columns[name])

    def rows(self) -> Iterator[dict[str, Cell]]:
        for values in zip(*self.columns.values(), strict=True):
            yield dict(zip(self.columns, values, strict=True))

    def where(self, **equals: Cell) -> Table:
        """The rows in which these columns have these values."""
        kept = [i for i, row in enumerate(self.rows()) if all(row[name] == value for name, value in equals.items())]
        return Table({name: [values[i] for i in kept] for name, values in self.columns.items()})

    def to_csv(self) -> str:
        """Numbers with nine significant digits; an unknown number is an empty cell; see `escape_cell` for texts."""
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        quoting = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL)
        header = [escape_cell(name) for name in self.columns]
        for cells in (header, *([_cell(value) for value in row.values()] for row in self.rows())):
            has_return = any("\r" in cell for cell in cells)  # the csv module quotes it from Python 3.13 on, and reads it quoted only
            (quoting if has_return else writer).writerow(cells)
        return text.getvalue()

    def save(self, path: str | Path) -> None:
        try:
            content = self.to_csv().encode()
        except UnicodeEncodeError as error:
            raise StorageError(
                f"{path}: a cell holds half a character ({error.object[error.start]!a}).", "Repair the text that it comes from."
            ) from error
        write_whole(path, [content])

    def to_frame(self) -> Any:
        """The table as a pandas data frame. pandas is optional: everything else of a table works without it."""
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError as error:
            raise EyelineError(
                "A data frame needs pandas, which is not installed.", "Without it: table.rows(), table['column']."
            ) from error
        return pandas.DataFrame(dict(self.columns))


def open_table(path: str | Path, types: Mapping[str, ColumnType] | None = None) -> Table:
    """Read a table that `save` wrote.

    types   of its columns, from run.json. Without them, a column that is spelled like numbers throughout becomes numbers.
    """
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            _allow_cells_of(os.fstat(file.fileno()).st_size)
            header, *lines = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise StorageError(f"{path}: cannot be read as a table ({error}).", "Delete it and make the run again.") from error
    if any(len(line) != len(header) for line in lines) or len(set(header)) != len(header):
        raise StorageError(f"{path}: its rows differ in length, or a column is there twice.", "Delete it and make the run again.")
    columns = {plain_cell(name): [line[i] for line in lines] for i, name in enumerate(header)}
    types = {name: _spelled_as(cells) for name, cells in columns.items()} if types is None else types
    if set(types) != set(columns):
        raise StorageError(f"{path}: its columns are not those that run.json lists.", "Delete it and make the run again.")
    try:
        return Table({name: _read(cells, types[name]) for name, cells in columns.items()})
    except ValueError as error:
        raise StorageError(f"{path}: text where a number should be ({error}).", "Delete it and make the run again.") from error


def _allow_cells_of(size: int) -> None:
    """Let the csv module read cells of `size` characters (131,072 by default). It is a limit of the whole process, and is never lowered."""
    if csv.field_size_limit() < size:
        csv.field_size_limit(size)


def _printed(value: Cell) -> str:
    if isinstance(value, float | np.floating):
        return f"{value:.4g}"
    text = printable(str(value))
    return text if len(text) <= PRINTED_CELL else f"{text[: PRINTED_CELL - 1]}…"


def _cell(value: Cell) -> str:
    if isinstance(value, float | np.floating):
        return "" if np.isnan(value) else f"{value:.9g}"
    return str(value) if isinstance(value, int | np.integer) else escape_cell(value)


def escape_cell(text: str) -> str:
    """A text that a spreadsheet would take for a formula gets an apostrophe before it; `open_table` removes it. Numbers stay numbers.

    >>> [escape_cell(text) for text in ("=1+1", "-", "cat", "'s", "'=")]
    ["'=1+1", "'-", 'cat', "'s", "''="]
    """
    return f"'{text}" if text[:1] in FORMULA or (text[:1] == "'" and text[1:2] in ESCAPED) else text


def plain_cell(text: str) -> str:
    """The text of a cell of a file.

    >>> [plain_cell(text) for text in ("'=1+1", "'-", "cat", "'s", "''=")]
    ['=1+1', '-', 'cat', "'s", "'="]
    """
    return text[1:] if text[:1] == "'" and text[1:2] in ESCAPED else text


def types_of(table: Table) -> dict[str, ColumnType]:
    """What each column holds: whole numbers, numbers or texts.

    >>> types_of(Table({"layer": [0, 1], "mean": [0.25, 1], "word": ["007", "nan"]}))
    {'layer': 'integer', 'mean': 'number', 'word': 'text'}
    """
    return {name: _type_of(cells) for name, cells in table.columns.items()}


def _type_of(cells: Sequence[Cell]) -> ColumnType:
    """The type that gives the cells back. Numbers among which cells are empty are numbers, of which some are unknown."""
    if all(isinstance(cell, str) for cell in cells):
        return "text"
    if all(isinstance(cell, int | np.integer) and not isinstance(cell, bool) for cell in cells):
        return "integer"
    numbers = all(cell == "" or (isinstance(cell, int | float | np.number) and not isinstance(cell, bool)) for cell in cells)
    return "number" if numbers else "text"


def _spelled_as(cells: list[str]) -> ColumnType:
    """The type of a column of which nothing else is known."""
    if all(INTEGER.fullmatch(cell) for cell in cells):
        return "integer"
    return "number" if all(NUMBER.fullmatch(cell) for cell in cells) else "text"


def _read(cells: list[str], kind: ColumnType) -> list[Cell]:
    if kind == "integer":
        return [int(cell) for cell in cells]
    if kind == "number":
        return [float(cell) if cell else float("nan") for cell in cells]
    return [plain_cell(cell) for cell in cells]


# ---- Tables with a row for each head


def head_table(records: Sequence[tuple[Cell, ...]], columns: Sequence[str]) -> Table:
    """Records (stack, layer, head, …) as a table; the column `stack` only where there are several."""
    names = ("stack", "layer", "head", *columns)
    several = len({record[0] for record in records}) > 1
    rows = [dict(zip(names, record, strict=True)) for record in records]
    return Table.from_rows(rows, names if several else names[1:])


def heads_of_rows(table: Table, stack: str = "") -> list[HeadRef]:
    """The head of each row."""
    stacks = map(str, table["stack"]) if "stack" in table.columns else [stack] * len(table)
    return list(map(HeadRef, stacks, table["layer"].astype(int).tolist(), table["head"].astype(int).tolist()))
