"""Tables of earlier versions are read with the names of today."""

from __future__ import annotations

from pathlib import Path

from eyeline.results.folder import read_parts
from eyeline.results.grammar.directions import ARC_DIRECTIONS
from eyeline.results.old_tables import with_names_of_today
from eyeline.results.table import Table

OLD_RUN = next((Path(__file__).parents[1] / "storage").glob("written_by_*")) / "joined"


def test_directions_of_an_old_run_are_named_by_the_governor() -> None:
    tables = read_parts(OLD_RUN)[0].tables
    assert "dependent-to-head" in (OLD_RUN / "tables" / "syntax_heads.csv").read_text(encoding="utf-8")
    assert set(tables["syntax_heads"].columns["direction"]) == set(ARC_DIRECTIONS)
    assert set(tables["syntax_examples"].columns["direction"]) <= set(ARC_DIRECTIONS)


def test_the_old_column_place_of_an_example_is_its_index() -> None:
    old = Table({"place": [0, 1], "word": ["the", "place"]})
    assert with_names_of_today("coreference_example", old).columns == {"index": [0, 1], "word": ["the", "place"]}


def test_other_tables_are_read_as_they_are() -> None:
    table = Table({"place": ["Paris"], "direction": ["dependent-to-head"]})
    assert with_names_of_today("my_statistic", table).columns == table.columns
