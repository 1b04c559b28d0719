"""Parquet, Arrow and CSV as corpora: the same documents as the same texts in JSON lines."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from eyeline.corpora import Corpus, read_corpus
from eyeline.errors import TextError

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (make setup)")
import pyarrow.feather  # noqa: E402
import pyarrow.parquet  # noqa: E402

TEXTS = ['She said "no", twice.', "One line.\nAnother line.", "猫が好き", "", "  ", "d" * 200_000, None, "ends"]
READ = [text or "" for text in TEXTS]


def write(path: Path, columns: dict[str, list[object]]) -> Path:
    table = pa.table(columns)
    if path.suffix == ".parquet":
        pyarrow.parquet.write_table(table, path, row_group_size=3)
    elif path.suffix == ".feather":
        pyarrow.feather.write_feather(table, path, chunksize=3)
    elif path.suffix == ".arrow":  # the stream of batches that the library datasets writes
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
            writer.write_table(table, max_chunksize=3)
    else:
        with path.open("w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file, delimiter="\t" if path.suffix == ".tsv" else ",")
            writer.writerow(columns)
            writer.writerows(zip(*columns.values(), strict=True))
    return path


def items(corpus: Corpus) -> list[object]:
    return [document.item for document in corpus]


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow", ".csv", ".tsv"])
def test_every_row_is_a_document_empty_ones_too(tmp_path: Path, ending: str) -> None:
    corpus = read_corpus(write(tmp_path / f"x{ending}", {"id": list(range(len(TEXTS))), "text": TEXTS}))
    assert items(corpus) == READ == items(corpus)  # a second reading gives the same
    assert len(corpus) == len(TEXTS)
    assert corpus.unit == "text"
    assert len(corpus.sha256) == 64


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow", ".csv"])
def test_another_content_has_another_hash(tmp_path: Path, ending: str) -> None:
    first = read_corpus(write(tmp_path / f"a{ending}", {"text": ["one", "two"]}))
    same = read_corpus(write(tmp_path / f"b{ending}", {"text": ["one", "two"]}))
    other = read_corpus(write(tmp_path / f"c{ending}", {"text": ["one", "twp"]}))
    assert first.sha256 == same.sha256 != other.sha256


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".csv"])
def test_columns_are_chosen_by_name(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"x{ending}", {"question": ["Did it?"], "answer": ["It did."], "n": [1]})
    assert items(read_corpus(path, column="answer")) == ["It did."]
    assert items(read_corpus(path, column="question", pair_column="answer")) == [("Did it?", "It did.")]
    with pytest.raises(TextError, match="which column") as error:
        read_corpus(path)
    assert "question, answer" in str(error.value)
    with pytest.raises(TextError, match="no column 'anser'") as error:
        read_corpus(path, column="anser")
    assert "Did you mean answer?" in str(error.value)


def test_a_pair_column_named_pair_is_read_as_in_json_lines(tmp_path: Path) -> None:
    rows = {"text": ["a", "c"], "pair": ["b", ""]}
    lines = tmp_path / "x.jsonl"
    lines.write_text("".join(json.dumps({"text": a, "pair": b} if b else {"text": a}) + "\n" for a, b in zip(*rows.values(), strict=True)))
    assert items(read_corpus(write(tmp_path / "x.parquet", rows))) == items(read_corpus(lines)) == [("a", "b"), "c"]


def test_lists_of_words_are_documents_of_words(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", {"tokens": [["It", "rained"], ["Did", "it", "?"]], "label": [0, 1]})
    assert items(read_corpus(path)) == [["It", "rained"], ["Did", "it", "?"]]


def test_a_table_without_text_and_a_column_of_numbers_are_refused(tmp_path: Path) -> None:
    path = write(tmp_path / "x.parquet", {"n": [1, 2], "x": [0.5, 0.7]})
    with pytest.raises(TextError, match="no column of text"):
        read_corpus(path)
    with pytest.raises(TextError, match="holds no text"):
        read_corpus(path, column="n")


def test_a_chosen_column_of_json_lines(tmp_path: Path) -> None:
    path = tmp_path / "x.jsonl"
    path.write_text('{"body": "a", "reply": "b"}\n{"body": "c", "reply": null}\n')
    assert items(read_corpus(path, column="body", pair_column="reply")) == [("a", "b"), "c"]
    with pytest.raises(TextError, match="line 1: no text") as error:
        read_corpus(path, column="bodies")
    assert "Did you mean body?" in str(error.value)
    with pytest.raises(TextError, match="Choices: body, reply"):
        read_corpus(path, column="question")


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "empty table"),
        (b"text,n\na,1\nb\n", "line 3: 1 fields, but 2 columns"),
        (b'text\n"never closed\n', "not CSV"),
        (b"text\n\xff\n", "line 2: not UTF-8"),
        (b"text\n", "empty corpus"),
    ],
)
def test_a_bad_csv_file_is_named_with_its_line(tmp_path: Path, data: bytes, message: str) -> None:
    (tmp_path / "x.csv").write_bytes(data)
    with pytest.raises(TextError, match=message):
        read_corpus(tmp_path / "x.csv")


@pytest.mark.parametrize("ending", [".parquet", ".feather", ".arrow"])
def test_a_table_that_was_cut_off_is_named(tmp_path: Path, ending: str) -> None:
    path = write(tmp_path / f"x{ending}", {"text": [f"document {i}" for i in range(5000)]})
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    with pytest.raises(TextError, match=r"cannot be read[^\n]*\n\s*The file is damaged"):
        list(read_corpus(path))


def test_a_parquet_file_is_opened_without_reading_its_texts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = write(tmp_path / "x.parquet", {"text": [f"document {i} " * 50 for i in range(3000)]})
    counts: list[int] = []
    original = pyarrow.parquet.ParquetFile.iter_batches
    monkeypatch.setattr(pyarrow.parquet.ParquetFile, "iter_batches", lambda *a, **k: counts.append(1) or original(*a, **k))
    corpus = read_corpus(path)
    assert (len(corpus), counts) == (3000, [])
    assert sum(1 for _ in corpus) == 3000
    assert len(counts) == 1000  # once for each group of three rows
