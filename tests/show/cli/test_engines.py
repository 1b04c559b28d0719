"""Every analysis by the command line with every engine: the tables that one process writes."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.show.cli.main import app
from tests.laws.statistics import tiny_model
from tests.look.views.front_end import use_small_front_end
from tests.measure.engines.fake_engine import Pretended
from tests.measure.engines.small_run import TEXTS, importable_tests, saved_model, small_shards
from tests.measure.engines.test_every_analysis import SENTENCES, STORIES
from tests.text.corpora.marked import as_json

#: A command → its corpus, and options that keep it small.
COMMANDS = {
    "analyse": ("texts.txt", "--only", "entropy", "--only", "average_attention"),
    "causes": ("texts.txt", "--no-pruning", "--layers", "1"),
    "faithfulness": ("texts.txt", "--method", "gradient"),
    "syntax": ("trees.conllu", "--min-count", "1"),
    "coreference": ("stories.jsonl",),
    "probe": ("trees.conllu", "--seeds", "1", "--epochs", "1"),
    "space": ("texts.txt", "--project", "pca", "--gauge", "none", "--layers", "0", "--heads", "1", "--no-background"),
}


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Small corpora of each kind, and a model that other processes can open."""
    folder = tmp_path_factory.mktemp("data")
    (folder / "texts.txt").write_text("\n\n".join(TEXTS[:10]) + "\n")
    (folder / "trees.conllu").write_text("".join(as_tree(sentence) for sentence in SENTENCES))
    (folder / "stories.jsonl").write_text("".join(map(as_json, STORIES[:8])))
    saved_model(folder / "tiny")
    return folder


def as_tree(sentence: el.treebanks.Sentence) -> str:
    """A sentence as CoNLL-U."""
    words = zip(sentence.words, sentence.governors, sentence.deprels, strict=True)
    rows = [f"{i}\t{word}\t_\t_\t_\t_\t{governor + 1}\t{relation}\t_\t_" for i, (word, governor, relation) in enumerate(words, 1)]
    return f"# sent_id = {sentence.id}\n" + "\n".join(rows) + "\n\n"


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    use_small_front_end(monkeypatch)
    with small_shards():
        yield


def run(command: str, data: Path, model: Path | str, output: Path, *engine: str) -> Path:
    """The folder of a run of this command."""
    corpus, *options = COMMANDS[command]
    result = CliRunner().invoke(app, [command, str(data / corpus), *options, "--model", str(model), "-o", str(output), *engine])
    assert result.exit_code == 0, result.output + str(result.exception)
    return output


def check_same_tables(one_process: Path, by_workers: Path) -> None:
    """Compare every cell of every table: numbers to 1e-9, all others exactly."""
    names = sorted(path.name for path in (one_process / "tables").glob("*.csv"))
    assert names
    assert names == sorted(path.name for path in (by_workers / "tables").glob("*.csv"))
    for name in names:
        expected, given = (list(csv.reader((folder / "tables" / name).open())) for folder in (one_process, by_workers))
        assert [len(row) for row in expected] == [len(row) for row in given]
        for left, right in zip(chain(*expected), chain(*given), strict=True):
            assert left == right or math.isclose(float(left), float(right), rel_tol=0, abs_tol=1e-9), name


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "name", "engine"),
    [*((command, "processes", el.runs.Processes) for command in COMMANDS), ("analyse", "ray", el.Ray), ("causes", "ray", el.Ray)],
)
def test_the_options_of_every_command_reach_its_workers(command, name, engine, data: Path, tmp_path: Path, monkeypatch):
    started: list[Any] = []

    def pretended(self: Any, work: Any, model: Any) -> Any:
        started.append(self)
        return Pretended(2, deaths=1).pool(work, model)

    monkeypatch.setattr("eyeline.models.load.load", lambda *_, **__: tiny_model())
    monkeypatch.setattr(engine, "check", lambda self: None)
    monkeypatch.setattr(engine, "pool", pretended)
    by_workers = run(command, data, "tiny", tmp_path / "workers", "--engine", name, "--workers", "2")
    check_same_tables(run(command, data, "tiny", tmp_path / "local"), by_workers)
    assert {each.workers for each in started} == {2}
    if command != "space":
        recorded = el.runs.open_run(by_workers).facts.engine
        assert recorded is not None
        assert (recorded.name, recorded.workers) == (name, 2)


@pytest.mark.cluster
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("name", ["processes", "ray"])
def test_real_workers_of_every_command_write_the_tables_of_one_process(command, name, data: Path, tmp_path: Path, monkeypatch):
    if name == "ray":
        pytest.importorskip("ray", reason="the extra ray is not installed")
    importable_tests(monkeypatch)
    model = data / "tiny"
    by_workers = run(command, data, model, tmp_path / "workers", "--engine", name, "--workers", "2")
    check_same_tables(run(command, data, model, tmp_path / "local"), by_workers)
