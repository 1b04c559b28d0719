"""Datasets of Hugging Face: saved folders, and folders of data files that are streamed as those of the hub are."""

from __future__ import annotations

from pathlib import Path

import pytest

from eyeline.corpora import read_corpus
from eyeline.errors import TextError

datasets = pytest.importorskip("datasets", reason="datasets is not installed (make setup)")


def items(given: str | Path, **options: str) -> list[object]:
    return [document.item for document in read_corpus(given, **options)]


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    parts = {"train": {"text": ["one", "two", None], "label": [0, 1, 0]}, "test": {"text": ["three"], "label": [1]}}
    splits = datasets.DatasetDict({name: datasets.Dataset.from_dict(rows) for name, rows in parts.items()})
    splits.save_to_disk(str(tmp_path / "reviews"))
    return tmp_path / "reviews"


def test_a_saved_dataset_is_known_by_its_files(saved: Path) -> None:
    assert items(saved) == ["one", "two", ""]
    assert items(saved, split="test") == ["three"]
    corpus = read_corpus(saved, split="test")
    assert (corpus.name, len(corpus)) == ("reviews (test)", 1)
    assert corpus.sha256 == read_corpus(saved, split="test").sha256 != read_corpus(saved).sha256


def test_a_split_or_a_column_that_is_not_there_is_named(saved: Path, tmp_path: Path) -> None:
    with pytest.raises(TextError, match="no split 'tset'") as error:
        read_corpus(saved, split="tset")
    assert "Did you mean test?" in str(error.value)
    with pytest.raises(TextError, match="no column 'body'"):
        read_corpus(saved, column="body")
    datasets.Dataset.from_dict({"n": [1, 2]}).save_to_disk(str(tmp_path / "numbers"))
    with pytest.raises(TextError, match="no column of text"):
        read_corpus(tmp_path / "numbers")
    (tmp_path / "x.txt").write_text("a text\n")
    with pytest.raises(TextError, match="is not a dataset"):
        read_corpus(tmp_path / "x.txt", split="train")


def test_a_folder_of_data_files_is_streamed(tmp_path: Path) -> None:
    (tmp_path / "plain" / "data").mkdir(parents=True)
    (tmp_path / "plain" / "data" / "train.csv").write_text("sentence,label\nIt rained.,0\nIt did not.,1\n")
    (tmp_path / "plain" / "data" / "test.csv").write_text("sentence,label\nIt snowed.,0\n")
    assert items(tmp_path / "plain", kind="dataset") == ["It rained.", "It did not."]
    assert items(tmp_path / "plain", kind="dataset", split="test") == ["It snowed."]


def test_an_id_that_cannot_be_reached_is_an_error_of_ours() -> None:
    with pytest.raises(TextError, match="no dataset that can be opened"):
        read_corpus("nobody/nothing", kind="dataset")


def test_a_dataset_without_rows_is_named_and_hides_no_other_split(tmp_path: Path) -> None:
    datasets.Dataset.from_dict({"text": []}).save_to_disk(str(tmp_path / "empty"))
    with pytest.raises(TextError, match="an empty dataset"):
        read_corpus(tmp_path / "empty")
    parts = {"train": datasets.Dataset.from_dict({"text": []}), "test": datasets.Dataset.from_dict({"text": ["one"]})}
    datasets.DatasetDict(parts).save_to_disk(str(tmp_path / "half"))
    with pytest.raises(TextError, match="an empty dataset"):
        read_corpus(tmp_path / "half")
    assert items(tmp_path / "half", split="test") == ["one"]
