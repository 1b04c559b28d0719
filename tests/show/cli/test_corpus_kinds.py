"""The same numbers from the same texts, whatever file they are in; and errors before a model is opened."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.show.cli.main import app

pa = pytest.importorskip("pyarrow", reason="pyarrow is not installed (make setup)")
import pyarrow.parquet  # noqa: E402

TEXTS = [f"The cat number {i} sat on the mat. It purred." for i in range(6)]


def run(*arguments: str) -> tuple[int, str]:
    result = CliRunner().invoke(app, list(arguments))
    return result.exit_code, " ".join((result.output + str(result.exception or "")).split())


def test_analyse_gives_the_same_tables_from_json_lines_and_from_many_parquet_files(tmp_path: Path) -> None:
    (tmp_path / "x.jsonl").write_text("".join(json.dumps(text) + "\n" for text in TEXTS))
    (tmp_path / "data").mkdir()
    for part in range(2):
        table = pa.table({"id": [1, 2, 3], "body": TEXTS[3 * part : 3 * part + 3]})
        pyarrow.parquet.write_table(table, tmp_path / "data" / f"{part}.parquet")
    shared = ("--model", "minilm", "--only", "entropy", "--only", "average_attention", "--layers", "1")
    code, output = run("analyse", str(tmp_path / "x.jsonl"), *shared, "-o", str(tmp_path / "a"))
    assert code == 0, output
    code, output = run("analyse", str(tmp_path / "data" / "*.parquet"), "--column", "body", *shared, "-o", str(tmp_path / "b"))
    assert code == 0, output
    first, second = el.runs.open_run(tmp_path / "a"), el.runs.open_run(tmp_path / "b")
    for name in first.tables:
        assert list(first.table(name).rows()) == list(second.table(name).rows())
    assert second.facts.corpus.name == "*.parquet (2 files)"
    assert second.facts.corpus.documents == 6


def test_a_column_that_is_not_there_is_said_before_anything_is_written(tmp_path: Path) -> None:
    pyarrow.parquet.write_table(pa.table({"body": TEXTS}), tmp_path / "x.parquet")
    code, output = run("analyse", str(tmp_path / "x.parquet"), "--column", "text", "--model", "minilm", "-o", str(tmp_path / "run"))
    assert code != 0
    assert "no column 'text'" in output
    assert not (tmp_path / "run").exists()
