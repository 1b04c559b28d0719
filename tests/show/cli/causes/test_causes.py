"""`eyeline attribute` and `eyeline faithfulness`: what they print, write and refuse."""

from __future__ import annotations

from pathlib import Path

import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.show.cli.main import app
from tests.measure.causes.tiny import PLAIN, decoder

run = CliRunner().invoke


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A tiny decoder on disk."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    decoder().hf.save_pretrained(path)
    decoder().tokenizer.save_pretrained(path)
    return str(path)


def test_attribute_prints_a_number_a_token_and_writes_a_page_with_the_switch(folder: str, tmp_path: Path) -> None:
    page = tmp_path / "x.html"
    result = run(app, ["attribute", PLAIN, "--model", folder, "--method", "rollout", "--method", "logits", "-o", str(page)])
    assert result.exit_code == 0, result.output
    assert "Attention rollout" in result.output
    assert "Direct logit attribution →" in result.output
    answer = f"The model answers: {decoder().predict(PLAIN)}"
    assert " ".join(answer.split()) in " ".join(result.output.split())
    assert len([line for line in result.output.splitlines() if line.split()[:1] == ["cat"]]) == 1
    assert '"method": "logits"' in page.read_text(encoding="utf-8").replace('"method":"', '"method": "')


def test_attribute_writes_a_trace(folder: str, tmp_path: Path) -> None:
    result = run(app, ["attribute", PLAIN, "--model", folder, "--method", "alti", "-o", str(tmp_path / "x.safetensors")])
    assert result.exit_code == 0, result.output
    assert el.open(tmp_path / "x.safetensors").quantity.method == "alti"


def test_attribute_refuses_an_unknown_method_before_a_model_is_opened() -> None:
    result = run(app, ["attribute", PLAIN, "--model", "nowhere", "--method", "rolout"])
    assert "Did you mean rollout" in str(result.exception)


def test_faithfulness_writes_a_run_with_its_table_and_figure_and_runs_merge(folder: str, tmp_path: Path) -> None:
    parts = []
    for name, lines in (("a", ["the cat sat on the mat", "a dog ran home ."]), ("b", ["it purred and the dog sat"])):
        corpus = tmp_path / f"{name}.txt"
        corpus.write_text("\n".join(lines) + "\n", encoding="utf-8")
        parts.append(str(tmp_path / name))
        command = ["faithfulness", str(corpus), "--model", folder, "--method", "rollout", "--method", "gradient", "-o", parts[-1]]
        result = run(app, [*command, "--paragraphs", "line"])
        assert result.exit_code == 0, result.output
        assert "random" in result.output
        assert (tmp_path / name / "tables" / "faithfulness.csv").exists()
    merged = run(app, ["merge", *parts, "-o", str(tmp_path / "all")])
    assert merged.exit_code == 0, merged.output
    table = el.open(tmp_path / "all").table("faithfulness")
    assert set(table.columns["texts"]) == {3}
    figure = el.figure(el.open(tmp_path / "all"), "faithfulness")
    assert {"Attention rollout", "Gradient × attention", "random order"} == set(figure.data[0].y)
