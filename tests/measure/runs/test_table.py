"""Tables: the same after they were written and read, and refused when they were damaged."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from eyeline.errors import EyelineError, StorageError, TraceError
from eyeline.measure.runs.table import Cell, open_table, types_of
from eyeline.runs import Table

TABLE = Table({"layer": [0, 1], "target": ["a,b", 'say "x"'], "mean": [0.1234567891234, float("nan")]})


def test_a_table_comes_back_with_nine_digits(tmp_path: Path) -> None:
    TABLE.save(tmp_path / "x.csv")
    again = open_table(tmp_path / "x.csv")
    assert list(again.columns) == ["layer", "target", "mean"]
    assert again.columns["layer"] == [0, 1]
    assert again.columns["target"] == ["a,b", 'say "x"']
    np.testing.assert_allclose(again["mean"], TABLE["mean"], rtol=1e-8)


def test_rows_can_be_chosen() -> None:
    assert list(TABLE.where(layer=0).rows()) == [{"layer": 0, "target": "a,b", "mean": 0.1234567891234}]
    assert len(TABLE.where(layer=7)) == 0


def test_a_printed_table_is_short_and_can_be_read() -> None:
    lines = repr(Table({"layer": range(144), "mean": [1 / 3] * 144, "word": ["a\nb" + "x" * 90] * 144})).splitlines()
    assert lines[:3] == ["<table: 144 rows>", "layer  mean    word", "0      0.3333  a�b" + "x" * 20 + "…"]
    assert lines[-2:] == ["9      0.3333  a�b" + "x" * 20 + "…", "…"]
    assert len(lines) == 13
    assert repr(TABLE.where(layer=0)).splitlines()[0] == "<table: 1 row>"
    assert repr(Table({})) == "<table: 0 rows>\n"


def test_an_unknown_column_offers_the_nearest() -> None:
    with pytest.raises(TraceError, match="Did you mean layer"):
        TABLE["layers"]


def test_columns_of_different_lengths_are_refused() -> None:
    with pytest.raises(TraceError, match="different lengths"):
        Table({"a": [1], "b": []})


def test_a_table_that_was_cut_off_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a,b\n1,2\n3")
    with pytest.raises(StorageError, match="differ in length"):
        open_table(tmp_path / "x.csv")
    (tmp_path / "y.csv").write_bytes(b"")
    with pytest.raises(StorageError, match="cannot be read"):
        open_table(tmp_path / "y.csv")


def test_negative_numbers_stay_numbers_in_a_file(tmp_path):
    Table({"offset": [1, -3], "relation": ["det", "-dash"]}).save(tmp_path / "x.csv")
    table = open_table(tmp_path / "x.csv")
    assert table.columns == {"offset": [1, -3], "relation": ["det", "-dash"]}


def test_a_cell_of_any_length_comes_back(tmp_path):
    """The csv module refuses more than 131,072 characters unless it is told."""
    for size in (131_073, 1_000_000):
        Table({"word": ["x" * size, "=" * size], "n": [1, 2]}).save(tmp_path / "x.csv")
        assert open_table(tmp_path / "x.csv").columns == {"word": ["x" * size, "=" * size], "n": [1, 2]}


def test_a_table_becomes_a_data_frame_with_the_same_columns() -> None:
    pytest.importorskip("pandas", reason="pandas is optional, and not installed here")
    frame = TABLE.to_frame()
    assert list(frame.columns) == list(TABLE.columns)
    assert frame["target"].tolist() == TABLE.columns["target"]


def test_without_pandas_a_data_frame_is_refused_with_what_works_without(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)  # an import of it then fails
    with pytest.raises(EyelineError, match=r"needs pandas.*\n.*table\.rows\(\)"):
        TABLE.to_frame()


CELLS = st.one_of(
    st.lists(st.text(st.characters(exclude_categories=["Cs"])) | st.sampled_from(["\r", "a\r\nb", "'", '"', "1", "nan", "", "\0", "=1"])),
    st.lists(st.integers(-(10**30), 10**30)),
    st.lists(st.integers(-(10**6), 10**6).map(lambda n: n / 8) | st.just(1)),
)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(columns=st.lists(CELLS, min_size=1, max_size=3), name=st.text(st.characters(exclude_categories=["Cs"])))
def test_every_table_that_is_saved_comes_back(tmp_path: Path, columns: list[list[Cell]], name: str) -> None:
    length = min(map(len, columns))
    table = Table({f"{name}{i}": cells[:length] for i, cells in enumerate(columns)})
    table.save(tmp_path / "x.csv")
    assert open_table(tmp_path / "x.csv", types_of(table)).columns == table.columns


def test_half_a_character_is_refused_when_it_is_saved(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="half a character"):
        Table({"word": ["\ud83d"]}).save(tmp_path / "x.csv")
    assert not list(tmp_path.iterdir())


def test_text_in_a_column_of_numbers_is_refused(tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\nx\n")
    for kind in ("integer", "number"):
        with pytest.raises(StorageError, match="text where a number should be"):
            open_table(tmp_path / "x.csv", {"a": kind})
