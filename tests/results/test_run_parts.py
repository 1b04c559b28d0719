"""Runs of several kinds in one folder: each keeps its tables and provenance, and one report shows them all."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import eyeline as el
from eyeline.errors import StorageError, TraceError
from eyeline.results.facts import OPTIONS, CorpusFacts, ModelFacts, RunFacts
from eyeline.results.folder import check_free, kinds_in
from eyeline.results.table import Table


def made_up(kind: str, tables: dict[str, int], model: str = "m") -> el.Run:
    facts = RunFacts(ModelFacts(model), CorpusFacts(f"{kind}.conllu"), OPTIONS[kind](), counts={"sentences": 3, "tokens": 30})
    return el.Run(facts, {name: Table({"layer": [0], "x": [value]}) for name, value in tables.items()})


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
