"""Runs of `eyeline causes`, `faithfulness` and `circuit`: the answer in their reports, and what happens to a folder that is taken."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.show.cli.main import app
from tests.measure.causes.tiny import masked

LINES = ("the cat sat on the mat .", "a dog ran home .")


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny masked language model on disk."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    masked().hf.save_pretrained(path)
    masked().tokenizer.save_pretrained(path)
    return str(path)


@pytest.fixture
def corpus(tmp_path: Path) -> str:
    path = tmp_path / "corpus.txt"
    path.write_text("\n\n".join(LINES), encoding="utf-8")
    return str(path)


def run(*arguments: object) -> str:
    """What the command prints; it must succeed."""
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code == 0, f"{result.output}\n{result.exception}"
    return result.output


def refused(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    assert result.exit_code != 0
    assert isinstance(result.exception, el.EyelineError)
    return f"{result.output}\n{result.exception.for_command_line}"


def answers(folder: Path) -> list[str]:
    return re.findall(r"<p class=answer>(.*?)</p>", (folder / "report.html").read_text(encoding="utf-8"))


@pytest.mark.parametrize("command", ["causes", "faithfulness"])
def test_the_report_says_what_the_model_answers_to_an_example_with_a_mask(command: str, model: str, corpus: str, tmp_path: Path) -> None:
    options = ["--layers", 0, "--no-pruning"] if command == "causes" else ["--method", "rollout"]
    run(command, corpus, "--model", model, *options, "-o", tmp_path / "run")
    prediction = el.open(tmp_path / "run").example.prediction
    assert prediction is not None
    assert prediction.kind == "masked"
    (line,) = answers(tmp_path / "run")
    assert "[MASK]" in line
    assert line.endswith(str(prediction))


def test_only_heads_without_which_the_loss_rises_are_listed_as_such(model: str, corpus: str, tmp_path: Path) -> None:
    printed = run("causes", corpus, "--model", model, "--no-pruning", "-o", tmp_path / "run")
    changes = el.open(tmp_path / "run").table("causes")["loss_change"].astype(float)
    assert 0 < sum(changes > 0) < len(changes), "the model has heads of both kinds"
    assert f"The loss rises without {sum(changes > 0)} of {len(changes)} heads" in printed
    rows = re.findall(r"^ L\d+·H\d+ +(\S+) nats", printed, re.MULTILINE)
    assert len(rows) == min(5, sum(changes > 0))
    assert all(row.startswith("+") for row in rows)


def test_the_report_of_a_circuit_says_how_the_model_answers_both_texts(model: str, tmp_path: Path) -> None:
    clean, corrupt = "the cat sat on the [MASK] .", "the dog sat on the [MASK] ."
    run("circuit", "--clean", clean, "--corrupt", corrupt, "--answer", "mat", "--against", "home", "--no-positions", "--steps", 1,
        "--model", model, "-o", tmp_path / "run")  # fmt: skip
    opened = el.open(tmp_path / "run")
    contrast, answer = answers(tmp_path / "run")
    assert f"{opened.facts.options.clean_metric:.2f} on the clean text".replace("-", "−") in contrast
    assert answer.endswith(str(opened.example.prediction))


@pytest.mark.slow
@pytest.mark.parametrize("command", ["analyse", "causes", "faithfulness"])
def test_a_folder_that_holds_a_run_is_continued_or_replaced_as_asked(command: str, model: str, corpus: str, tmp_path: Path) -> None:
    options = {
        "analyse": ["--layers", 0, "--only", "entropy"],
        "causes": ["--layers", 0, "--no-pruning"],
        "faithfulness": ["--method", "rollout"],
    }[command]
    start = [command, corpus, "--model", model, *options, "-o", tmp_path / "run"]
    run(*start)
    assert "--overwrite" in refused(*start)
    assert "either continued or replaced" in refused(*start, "--resume", "--overwrite")
    run(*start, "--resume")
    run(*start, "--overwrite", "--limit", 1)  # another run: it could not be continued
    assert el.open(tmp_path / "run").facts.counts["texts"] == 1


def test_merge_names_every_command_whose_runs_it_takes() -> None:
    help_text = run("merge", "--help")
    assert all(command in help_text for command in ("analyse", "causes", "faithfulness"))


@pytest.mark.slow
def test_runs_of_causes_over_parts_of_a_corpus_are_merged(model: str, tmp_path: Path) -> None:
    for name, line in zip("ab", LINES, strict=True):
        (tmp_path / f"{name}.txt").write_text(line, encoding="utf-8")
        run("causes", tmp_path / f"{name}.txt", "--model", model, "--layers", 0, "--no-pruning", "-o", tmp_path / name)
    run("merge", tmp_path / "a", tmp_path / "b", "-o", tmp_path / "all")
    merged = el.open(tmp_path / "all")
    assert merged.facts.counts["texts"] == 2
    assert len(merged.table("causes")) == 4
    assert len(answers(tmp_path / "all")) == 1
