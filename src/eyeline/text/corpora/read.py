"""Open a corpus: text, JSON lines, CoNLL-U, Parquet, Arrow, CSV, a dataset; one file, many, or an address."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path

from eyeline.errors import Advice, TextError, nearest
from eyeline.storage.files import as_path
from eyeline.text.corpora.columns import ANY_COLUMN, TextColumns
from eyeline.text.corpora.conllu import read_sentences
from eyeline.text.corpora.corpus import Corpus, Document
from eyeline.text.corpora.datasets import is_saved_dataset, read_dataset
from eyeline.text.corpora.files import SourceFile, find_files, is_address, shown_name
from eyeline.text.corpora.json_lines import read_json_lines
from eyeline.text.corpora.plain_text import guess_paragraphs, read_paragraphs
from eyeline.text.corpora.tables import count_rows, parquet_identity, read_table, table_columns

#: The kind of a corpus by its file's ending; .gz and .zst stand after it.
ENDINGS = {
    ".txt": "text",
    ".text": "text",
    ".md": "text",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".conllu": "conllu",
    ".conll": "conllu",
    ".csv": "csv",
    ".tsv": "csv",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
}
KINDS = ("text", "jsonl", "conllu", "csv", "parquet", "arrow", "dataset")
TABLES = ("csv", "parquet", "arrow")


def read_corpus(
    path: str | Path,
    *,
    paragraphs: str = "auto",
    kind: str | None = None,
    column: str | None = None,
    pair_column: str | None = None,
    split: str | None = None,
) -> Corpus:
    """Open a corpus, and check before a run begins that it can be read.

    path         a file, a folder of files of one kind, a pattern (data/*.parquet), an address (s3://…, https://…, hf://…), or with
                 kind="dataset" the id of a dataset of the hub; files may be packed as .gz or .zst
    kind         text, jsonl, conllu, csv, parquet, arrow or dataset; otherwise the file's ending says it
    paragraphs   of a plain text: "blank" (a blank line ends one), "line" (each line is one), or "auto": by blank lines where the first
                 1,000 lines look hard-wrapped (none over 200 characters, several in a row, blank ones between), else by line
    column       of a table, a dataset or JSON lines: the column of the text; otherwise `text` or the only column of text
    pair_column  the column of a second text, for pairs
    split        of a dataset: train, test, …

    A text file is read once here: its documents are counted and checked and its bytes hashed. Parquet says how many rows it has, so it is
    not read here. JSON lines: each a string, or an object with `text` (and `pair`), `tokens` or `words`. CoNLL-U: a sentence is a document.
    """
    if kind is not None and kind not in KINDS:
        raise TextError(f"A corpus of kind {kind!r}.", nearest(kind, KINDS))
    if paragraphs not in ("auto", "blank", "line"):
        raise TextError(f"paragraphs={paragraphs!r}.", "Choices: auto, blank, line.")
    chosen = TextColumns(column or "", pair_column or "")
    if kind == "dataset" or (kind is None and not is_address(path) and is_saved_dataset(as_path(path))):
        return read_dataset(path, chosen, split)
    if split is not None:
        raise TextError(
            "A split of a corpus that is not a dataset.",
            Advice("Give kind='dataset', or leave out split=….", "Give --kind dataset, or leave out --split."),
        )
    files = find_files(path, ENDINGS)
    kind = kind or _kind_of(files)
    if chosen != ANY_COLUMN and kind in ("text", "conllu"):
        leave_out = Advice("Leave out column=… and pair_column=….", "Leave out --column and --pair-column.")
        raise TextError(f"A column of a corpus of kind {kind}.", "Only tables, datasets and JSON lines have columns.", leave_out)
    if kind == "text" and paragraphs == "auto":
        paragraphs = guess_paragraphs(files[0])
    parts = [_FileReader(file, kind, _reader(kind, paragraphs, _columns(file, kind, chosen))) for file in files]
    scans = [part.scan() for part in parts]
    counts = [scan.documents for scan in scans]
    n_documents = None if None in counts else sum(count or 0 for count in counts)
    if n_documents == 0:
        raise TextError(f"{shown_name(path, files)}: an empty corpus.", "It holds no document with anything but white space in it.")
    digests = [scan.sha256 for scan in scans]
    digest = digests[0] if len(digests) == 1 else hashlib.sha256(" ".join(digests).encode()).hexdigest()
    unit = {"text": "line" if paragraphs == "line" else "paragraph", "conllu": "sentence"}.get(kind, "text")
    return Corpus(shown_name(path, files), digest, n_documents, lambda: _documents(parts), unit)


def _documents(parts: list[_FileReader]) -> Iterator[Document]:
    for index, part in enumerate(parts):
        for document in part.read(part.file):  # an article does not continue in the next file
            yield replace(document, group=f"{index} {document.group}") if document.group and len(parts) > 1 else document


@dataclass(frozen=True)
class _Scan:
    """What is known of a file before a run; documents: None where they were not counted."""

    documents: int | None
    sha256: str


@dataclass(frozen=True)
class _FileReader:
    """A file, and how its documents are read."""

    file: SourceFile
    kind: str
    read: Callable[[SourceFile], Iterator[Document]]

    def scan(self) -> _Scan:
        """Count the documents and hash the file, in one reading or in none."""
        if self.kind == "parquet":
            return _Scan(count_rows(self.file, self.kind), parquet_identity(self.file))
        if self.kind == "arrow" and (rows := count_rows(self.file, self.kind)) is not None:
            return _Scan(rows, self.file.identity())
        if self.file.system is not None:
            return _Scan(sum(1 for _ in self.read(self.file)), self.file.identity())
        digest = hashlib.sha256()
        return _Scan(sum(1 for _ in self.read(self.file.hashed(digest))), digest.hexdigest())


def _columns(file: SourceFile, kind: str, chosen: TextColumns) -> TextColumns:
    return table_columns(file, kind, chosen) if kind in TABLES else chosen


def _reader(kind: str, paragraphs: str, columns: TextColumns) -> Callable[[SourceFile], Iterator[Document]]:
    if kind in TABLES:
        return lambda file: read_table(file, kind, columns)
    if kind == "text":
        return lambda file: read_paragraphs(file, paragraphs)
    return read_sentences if kind == "conllu" else lambda file: read_json_lines(file, columns)


def _kind_of(files: tuple[SourceFile, ...]) -> str:
    kinds = {ENDINGS.get(file.ending) for file in files}
    if len(kinds) > 1:
        shown = ", ".join(sorted({file.ending or "none" for file in files}))
        raise TextError(f"Files of several kinds: {shown}.", "Give a pattern that names files of one kind, such as data/*.jsonl.")
    kind = kinds.pop()
    if kind is None:
        choices = f"{', '.join(KINDS[:-1])} or {KINDS[-1]}"
        raise TextError(
            f"{files[0]}: what kind of corpus is this?", Advice(f"Give its kind: kind=…: {choices}.", f"Give its kind: --kind {choices}.")
        )
    return kind
