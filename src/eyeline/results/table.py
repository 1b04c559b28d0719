"""A table: named columns of equal length, written as CSV, read back without pandas."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import EyelineError, StorageError, TraceError, nearest
from eyeline.storage.files import write_whole
from eyeline.text.printable import printable

Cell = str | int | float
#: Characters that begin a formula in a spreadsheet; characters that may follow an apostrophe that we added.
FORMULA = frozenset("=+-@\t\r")
ESCAPED = FORMULA | {"'"}
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
        writer.writerow([escape_cell(name) for name in self.columns])
        for row in self.rows():
            writer.writerow([_cell(value) for value in row.values()])
        return text.getvalue()

    def save(self, path: str | Path) -> None:
        write_whole(path, [self.to_csv().encode()])

    def to_frame(self) -> Any:
        """The table as a pandas data frame. pandas is optional: everything else of a table works without it."""
        try:
            import pandas  # type: ignore[import-untyped,unused-ignore]
        except ImportError as error:
            raise EyelineError(
                "A data frame needs pandas, which is not installed.", "Without it: table.rows(), table['column']."
            ) from error
        return pandas.DataFrame(dict(self.columns))


def open_table(path: str | Path) -> Table:
    """Read a table that `save` wrote; whole columns of numbers become numbers."""
    try:
        with Path(path).open(newline="", encoding="utf-8") as file:
            _allow_cells_of(os.fstat(file.fileno()).st_size)
            header, *lines = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:
        raise StorageError(f"{path}: cannot be read as a table ({error}).", "Delete it and make the run again.") from error
    if any(len(line) != len(header) for line in lines) or len(set(header)) != len(header):
        raise StorageError(f"{path}: its rows differ in length, or a column is there twice.", "Delete it and make the run again.")
    return Table({name: _read([line[i] for line in lines]) for i, name in enumerate(map(plain_cell, header))})


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


def _read(cells: list[str]) -> list[Cell]:
    for kind in (int, float):
        try:
            return [float("nan") if cell == "" and kind is float else kind(cell) for cell in cells]
        except ValueError:
            continue
    return [plain_cell(cell) for cell in cells]
