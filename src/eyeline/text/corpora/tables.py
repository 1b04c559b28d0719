"""Tables as corpora: Parquet, Arrow, CSV and TSV; a document for each row, read in small batches, only the chosen columns."""

from __future__ import annotations

import csv
import hashlib
from collections.abc import Generator, Iterator
from contextlib import closing
from typing import Any

from eyeline.errors import TextError
from eyeline.messages import Message
from eyeline.text.corpora.columns import TextColumns, as_item, choose
from eyeline.text.corpora.corpus import Document
from eyeline.text.corpora.files import LONGEST_LINE, REFUSED, SourceFile, import_arrow, numbered_lines, unreadable

#: Rows that are in memory at one time; fewer where so few bytes hold them all: a Parquet file stores a long text once for all rows.
ROWS, FEWEST_ROWS, BYTES = 1000, 16, 1 << 28

#: A column that grows this many times when it is unpacked, beyond the longest line, is no text.
MOST_GROWTH = 1000
#: The first bytes of an Arrow file that can be read from any position; other files are streams of batches.
ARROW_FILE = b"ARROW1"


def table_columns(file: SourceFile, kind: str, chosen: TextColumns) -> TextColumns:
    """The columns of a file that are read."""
    if kind == "csv":
        header = next(_csv_rows(file), None)
        if header is None:
            raise TextError(Message("refusal.empty_table", file=str(file)), Message("refusal.first_line_names"))
        return choose(file, header[1], header[1], chosen)
    with _opened(file, kind) as table:
        schema = table.schema_arrow if kind == "parquet" else table.schema
        return choose(file, schema.names, [field.name for field in schema if _holds_text(field.type)], chosen)


def count_rows(file: SourceFile, kind: str) -> int | None:
    """How many rows a Parquet or Arrow file has, from its own directory; None: it has no directory, and would have to be read."""
    with _opened(file, kind) as table:
        if kind == "parquet":
            return int(table.metadata.num_rows)
        return int(table.count_rows()) if hasattr(table, "count_rows") else None


def parquet_identity(file: SourceFile) -> str:
    """A hash of a Parquet file's directory: the size, offset and range of every column of every group of rows."""
    with _opened(file, "parquet") as table:
        facts = table.metadata
        digest = hashlib.sha256(f"{table.schema_arrow} {facts.num_rows}".encode())
        for index in range(facts.num_row_groups):
            digest.update(repr(facts.row_group(index).to_dict()).encode())
    return digest.hexdigest()


def read_table(file: SourceFile, kind: str, columns: TextColumns) -> Iterator[Document]:
    """The rows as documents. The number of a document is that of its row, from 1 (of CSV: of the line on which the row ends)."""
    rows = _read_csv(file, columns) if kind == "csv" else _read_arrow(file, kind, columns)
    for number, text, pair in rows:
        item = as_item(text, pair)
        if item is None:
            raise TextError(f"{file}, row {number}: {type(text).__name__} where a text should be.", f"Look at {columns}.")
        yield Document(item, number)


def _read_arrow(file: SourceFile, kind: str, columns: TextColumns) -> Iterator[tuple[int, Any, Any]]:
    number = 0
    with _opened(file, kind) as table:
        try:
            for batch in _batches(file, table, kind, columns):
                texts = batch.column(columns.text).to_pylist()
                pairs = batch.column(columns.pair).to_pylist() if columns.pair else [None] * len(texts)
                for text, pair in zip(texts, pairs, strict=True):
                    number += 1
                    yield number, text, pair
        except (OSError, ValueError, MemoryError) as error:  # what pyarrow raises for a damaged file
            if isinstance(error, TextError):
                raise
            raise unreadable(f"{file}, after row {number:,}", error, _advice(file)) from error


def _batches(file: SourceFile, table: Any, kind: str, columns: TextColumns) -> Iterator[Any]:
    if kind == "parquet":
        for group in range(table.num_row_groups):  # one at a time: for all groups at once, pyarrow reads ahead without a limit
            rows = _rows_at_once(file, table.metadata.row_group(group), columns)
            yield from table.iter_batches(batch_size=rows, row_groups=[group], columns=columns.names)
        return
    batches = (table.get_batch(index) for index in range(table.num_record_batches)) if hasattr(table, "get_batch") else table
    for batch in batches:
        for start in range(0, batch.num_rows, ROWS):
            yield batch.select(columns.names).slice(start, ROWS)


def _rows_at_once(file: SourceFile, group: Any, columns: TextColumns) -> int:
    """How many rows of a Parquet file are read at once. No text is longer than all of its column, however often it is repeated."""
    chunks = [group.column(index) for index in range(group.num_columns)]
    chosen = [chunk for chunk in chunks if chunk.path_in_schema.split(".")[0] in columns.names]
    stored, unpacked = (sum(getattr(chunk, f"total_{how}_size") for chunk in chosen) for how in ("compressed", "uncompressed"))
    if unpacked > max(LONGEST_LINE, MOST_GROWTH * stored):
        raise TextError(
            f"{file}: its texts would grow from {stored:,} to {unpacked:,} bytes when they are read.", Message("refusal.damaged_file")
        )
    return max(FEWEST_ROWS, min(ROWS, BYTES // max(1, int(unpacked))))


def _opened(file: SourceFile, kind: str) -> Any:
    """A Parquet or Arrow file, to be used in `with`."""
    arrow = import_arrow(f"A {'Parquet' if kind == 'parquet' else 'Arrow'} file")
    raw = file.open()
    try:
        if kind == "parquet":
            import pyarrow.parquet

            return pyarrow.parquet.ParquetFile(raw, pre_buffer=False)
        begins = raw.peek(len(ARROW_FILE))[: len(ARROW_FILE)]  # type: ignore[attr-defined]
        return (arrow.ipc.open_file if begins == ARROW_FILE else arrow.ipc.open_stream)(raw)
    except Exception as error:
        raw.close()
        raise unreadable(str(file), error, _advice(file)) from error


def _advice(file: SourceFile) -> str:
    """A file of this machine that was opened is damaged; a remote one may be kept back by its store."""
    return Message("refusal.damaged_file") if file.system is None else REFUSED


def _holds_text(column: Any) -> bool:
    import pyarrow.types as types

    inner = column.value_type if types.is_dictionary(column) or types.is_list(column) or types.is_large_list(column) else column
    return bool(types.is_string(inner) or types.is_large_string(inner) or types.is_string_view(inner))


def _read_csv(file: SourceFile, columns: TextColumns) -> Iterator[tuple[int, Any, Any]]:
    with closing(_csv_rows(file)) as rows:
        header = next(rows)[1]
        wanted = [header.index(name) for name in columns.names]
        for number, row in rows:
            if len(row) != len(header):
                raise TextError(
                    Message("refusal.fields", file=str(file), line=str(number), n=str(len(row)), columns=str(len(header))),
                    Message("refusal.quote_fields"),
                )
            values = [row[index] for index in wanted]
            yield number, values[0], values[1] if len(values) > 1 else None


def _csv_rows(file: SourceFile) -> Generator[tuple[int, list[str]], None, None]:
    """Rows with the line on which each ends; empty lines are skipped."""
    if csv.field_size_limit() < LONGEST_LINE:  # of the whole process, and only ever raised: a document is often longer than 128 kB
        csv.field_size_limit(LONGEST_LINE)
    with closing(numbered_lines(file)) as lines:
        reader = csv.reader((line + "\n" for _, line in lines), delimiter="\t" if file.ending == ".tsv" else ",", strict=True)
        try:
            for row in reader:
                if row:
                    yield reader.line_num, row
        except csv.Error as error:
            raise TextError(
                Message("refusal.not_csv", file=str(file), line=str(reader.line_num), why=str(error)), Message("refusal.open_quote")
            ) from error
