"""Runs of several kinds in one folder: each keeps its tables and provenance, and one report shows them all."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_type_hints

import pytest

import eyeline as el
from eyeline.errors import StorageError, TraceError
from eyeline.kinds import RUNS, named
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts
from eyeline.measure.runs.run import check_free, kinds_in
from eyeline.storage.sealed import read_json, write_sealed_json


def made_up(kind: str, tables: dict[str, int], model: str = "m") -> el.Run:
    facts_of_kind = named(RUNS[kind].facts)
    options = get_type_hints(facts_of_kind)["options"]()
    facts = facts_of_kind(ModelFacts(model), CorpusFacts(f"{kind}.conllu"), options, counts={"sentences": 3, "tokens": 30})
    return el.Run(facts, {name: el.runs.Table({"layer": [0], "x": [value]}) for name, value in tables.items()})


def test_a_run_of_another_kind_is_added_to_the_folder(tmp_path: Path) -> None:
    made_up("probe", {"p": 1}).save(tmp_path)
    made_up("coreference", {"c": 2, "c_heads": 3}).save(tmp_path)
    run = el.runs.open_run(tmp_path)
    assert list(run.tables) == ["c", "c_heads", "p"]  # in the order of kinds, not of saving
    assert list(run.parts) == kinds_in(tmp_path) == ["coreference", "probe"]
    assert run.parts["probe"].facts.corpus.name == "probe.conllu"
    page = el.runs.write_report(tmp_path).read_text(encoding="utf-8")
    assert page.index('id="part-coreference"') < page.index('id="part-probe"')
    assert "c, c_heads of m on 3 sentences, 30 tokens of coreference.conllu; p of m" in repr(run)


def test_run_json_of_one_kind_is_that_kinds_provenance(tmp_path: Path) -> None:
    made_up("syntax", {"s": 1}).save(tmp_path)
    about = json.loads((tmp_path / "run.json").read_text())["parts"]["syntax"]
    assert (about["kind"], list(about["tables"]), about["counts"]["sentences"]) == ("syntax", ["s"], 3)


def test_the_same_kind_is_replaced_with_its_files_and_nothing_else_is_touched(tmp_path: Path) -> None:
    made_up("probe", {"p": 1, "old": 1}).join(made_up("coreference", {"c": 2})).save(tmp_path)
    (tmp_path / "tables" / "mine.csv").write_text("a\n1\n")
    made_up("probe", {"p": 5}).save(tmp_path)
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"c.csv", "p.csv", "mine.csv"}
    assert el.runs.open_run(tmp_path).table("p").columns["x"] == [5]


def test_joining_in_memory_is_the_same_as_saving_one_after_the_other(tmp_path: Path) -> None:
    first, second = made_up("probe", {"p": 1}), made_up("coreference", {"c": 2})
    first.join(second).save(tmp_path / "together")
    first.save(tmp_path / "apart")
    second.save(tmp_path / "apart")
    el.runs.write_report(tmp_path / "together")
    el.runs.write_report(tmp_path / "apart")
    for file in ("run.json", "report.html", "tables/p.csv", "tables/c.csv"):
        assert (tmp_path / "together" / file).read_text() == (tmp_path / "apart" / file).read_text()


def test_two_runs_of_one_kind_or_with_one_table_are_not_joined() -> None:
    with pytest.raises(TraceError, match="Two runs of kind 'probe'"):
        made_up("probe", {"p": 1}).join(made_up("probe", {"q": 1}))
    with pytest.raises(TraceError, match="table 'p'"):
        made_up("probe", {"p": 1}).join(made_up("coreference", {"p": 1}))


def test_a_second_run_of_a_kind_is_refused_before_it_starts(tmp_path: Path) -> None:
    made_up("probe", {"p": 1}).save(tmp_path)
    with pytest.raises(StorageError, match="holds a run of probe"):
        check_free(tmp_path, "probe")
    check_free(tmp_path, "probe", overwrite=True)
    check_free(tmp_path, "coreference")
    check_free(tmp_path / "new", "probe")
    with pytest.raises(StorageError, match=r"run\.json is a file"):
        check_free(tmp_path / "run.json", "probe", overwrite=True)


@pytest.mark.parametrize("text", ["{", "[]", '{"parts": 3}', '{"parts": {"probe": {}}}'])
def test_a_damaged_run_json_is_named_and_never_half_read(tmp_path: Path, text: str) -> None:
    (tmp_path / "run.json").write_text(text)
    with pytest.raises(StorageError, match="not a finished run"):
        el.runs.open_run(tmp_path)
    with pytest.raises(StorageError, match="not a finished run"):
        made_up("probe", {"p": 1}).save(tmp_path)


def test_only_tables_as_they_were_written_are_removed_with_their_run(tmp_path: Path) -> None:
    made_up("probe", {"p": 1, "old": 1, "edited": 1}).save(tmp_path)
    (tmp_path / "tables" / "edited.csv").write_text("layer,x\n0,9\n")
    made_up("probe", {"p": 5}).save(tmp_path)
    assert {path.name for path in (tmp_path / "tables").iterdir()} == {"p.csv", "edited.csv"}


TYPED = el.runs.Table({
    "word": ["007", "12"], "place": ["1_000", "2"], "digits": ["１２", "1"], "unknown": ["nan", ""], "part": ["1e5", "inf"],
    "mean": [1.0, float("nan")], "count": [3, -4],
})  # fmt: skip


def test_a_column_of_texts_that_look_like_numbers_comes_back_as_texts(tmp_path: Path) -> None:
    facts = made_up("syntax", {}).facts
    el.Run(facts, {"t": TYPED}).save(tmp_path)
    table = el.runs.open_run(tmp_path).table("t")
    assert repr(table.columns) == repr(TYPED.columns)
    assert [type(table.columns[name][0]) for name in ("word", "mean", "count")] == [str, float, int]
    made_up("probe", {"p": 1}).save(tmp_path)  # the types of the other run stay
    assert repr(el.runs.open_run(tmp_path).table("t").columns) == repr(TYPED.columns)


def test_a_run_whose_columns_have_no_types_opens_as_before(tmp_path: Path) -> None:
    """Versions before 1.0 kept none: a column that is spelled as we spell numbers becomes numbers."""
    el.Run(made_up("syntax", {}).facts, {"t": TYPED}).save(tmp_path)
    data = read_json(tmp_path / "run.json")
    del data["parts"]["syntax"]["columns"]
    write_sealed_json(tmp_path / "run.json", data)
    table = el.runs.open_run(tmp_path).table("t")
    assert {name: table.columns[name][0] for name in ("word", "place", "digits", "unknown")} == {
        "word": "007", "place": "1_000", "digits": "１２", "unknown": "nan"
    }  # fmt: skip
    assert (table.columns["count"], table.columns["mean"][0]) == ([3, -4], 1.0)


@pytest.mark.parametrize(
    "columns", [3, {}, {"t": []}, {"t": {"x": "date"}}, {"t": {"x": "integer"}}, {"t": {"layer": "integer", "y": "text"}}]
)
def test_types_that_do_not_fit_the_tables_are_refused(tmp_path: Path, columns: object) -> None:
    made_up("syntax", {"t": 1}).save(tmp_path)
    data = read_json(tmp_path / "run.json")
    data["parts"]["syntax"]["columns"] = columns
    write_sealed_json(tmp_path / "run.json", data)
    with pytest.raises(StorageError, match="columns"):
        el.open(tmp_path)
