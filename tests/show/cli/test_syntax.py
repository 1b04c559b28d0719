"""`eyeline syntax`: a treebank in, tables, figures and a report out; beside other runs in one folder."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.errors import StorageError, TextError
from eyeline.show.cli import corpus as corpus_commands
from eyeline.show.cli import grammar as grammar_commands
from eyeline.show.cli.main import app
from tests.laws.statistics import tiny_model
from tests.look.views.front_end import use_small_front_end
from tests.measure.grammar.test_syntax import SENTENCES
from tests.text.corpora.test_treebank import TWO_ROOTS, block, line

ODD = el.treebanks.Sentence("</script><b>", ("<b>cat</b>", "ran", "</script>"), (1, -1, 1), ("nsubj", "root", "<i>odd</i>"))


def conllu(sentences: list[el.treebanks.Sentence]) -> str:
    return "".join(
        block(
            s.id,
            *(line(i + 1, *parts) for i, parts in enumerate(zip(s.words, (h + 1 for h in s.governors), s.deprels, strict=True))),
        )
        for s in sentences
    )


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)
    monkeypatch.setattr("eyeline.models.load.load", lambda *_, **__: tiny_model())
    for module in (corpus_commands, grammar_commands):
        monkeypatch.setattr(module.console, "width", 200)


@pytest.fixture
def treebank(tmp_path: Path) -> Path:
    path = tmp_path / "x.conllu"
    path.write_text(conllu([*SENTENCES, *SENTENCES]) + TWO_ROOTS, encoding="utf-8")
    return path


def run_command(*arguments: object) -> Any:
    return CliRunner().invoke(app, [str(item) for item in arguments])


def test_a_treebank_in_a_report_out(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    result = run_command("syntax", treebank, "-o", out, "--min-count", 2, "--layers", "0,2")
    assert result.exit_code == 0, result.output
    assert "1 of 9 sentences is not a tree and is not in these numbers. The first: two, two roots, words 1 and 2." in result.output
    assert "nsubj" in result.output
    with (out / "tables" / "syntax.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0])[:9] == [
        "relation", "count", "layer", "head", "direction", "accuracy", "baseline", "offset", "accuracy_held_out",
    ]  # fmt: skip
    assert {row["layer"] for row in rows} <= {"0", "2"}
    printed = next(line for line in result.output.splitlines() if line.startswith(rows[0]["relation"]))
    assert printed.endswith(f"{float(rows[0]['baseline_any']):.1f} % ({int(rows[0]['offset_any']):+d})")
    about = json.loads((out / "run.json").read_text())["parts"]["syntax"]
    message = {"key": "notice.dropped.two_roots", "values": {"first": "1", "second": "2"}, "words": "two roots, words 1 and 2."}
    assert about["dropped"]["no_tree"] == {"two": message}
    assert about["kind"] == "syntax"
    assert sorted(path.stem for path in (out / "figures").iterdir()) == ["syntax", "syntax_examples"]
    page = (out / "report.html").read_text(encoding="utf-8")
    assert "1 of 9 sentences is not a tree" in page
    assert 'id="table-syntax"' in page


def test_strict_stops_at_a_sentence_that_is_no_tree(treebank: Path, tmp_path: Path) -> None:
    result = run_command("syntax", treebank, "-o", tmp_path / "run", "--strict")
    assert isinstance(result.exception, TextError)
    assert "sentence two" in str(result.exception)
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_second_run_needs_overwrite_and_a_corpus_analysis_can_stand_beside_it(treebank: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    assert run_command("syntax", treebank, "-o", out, "--min-count", 2).exit_code == 0
    again = run_command("syntax", treebank, "-o", out)
    assert isinstance(again.exception, StorageError)
    assert "--overwrite" in again.exception.for_command_line
    assert run_command("analyse", treebank, "-o", out, "--only", "entropy").exit_code == 0
    assert run_command("syntax", treebank, "-o", out, "--min-count", 5, "--overwrite").exit_code == 0
    run = el.runs.open_run(out)
    assert list(run.parts) == ["analyse", "syntax"]
    assert list(run.tables) == ["entropy", "syntax", "syntax_heads", "syntax_examples"]
    assert list(run.table("syntax").columns["relation"]) == ["all", "nsubj"]
    assert el.figure(run, "entropy").layout.title.text.startswith("How broadly")
    page = (out / "report.html").read_text(encoding="utf-8")
    assert page.index("figure-entropy") < page.index("figure-syntax_examples")
    assert (out / "example.safetensors").is_file()
    assert isinstance(run_command("analyse", treebank, "-o", out, "--only", "entropy").exception, StorageError)


def test_wrong_options_are_refused_before_anything_is_written(treebank: Path, tmp_path: Path) -> None:
    for option in (["--labels", "penn"], ["--layers", "x"], ["--layers", "9"], ["--min-count", "0"], ["--max-tokens", "2"]):
        assert run_command("syntax", treebank, "-o", tmp_path / "run", *option).exit_code != 0
    assert run_command("syntax", tmp_path / "none.conllu", "-o", tmp_path / "run").exit_code != 0
    assert not (tmp_path / "run" / "run.json").exists()


@pytest.mark.slow
@pytest.mark.browser
@pytest.mark.parametrize("width", [360, 1200])
def test_the_report_draws_and_text_stays_text(tmp_path: Path, width: int, browser: Any) -> None:
    el.runs.write_report(el.syntax(tiny_model(), [*SENTENCES, ODD] * 2, min_count=1).save(tmp_path))
    page = browser.new_page(viewport={"width": width, "height": 800})
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: trouble.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto(f"file://{tmp_path}/report.html")
    page.locator("#figure-syntax .main-svg").first.wait_for()
    page.locator("#figure-syntax_examples .textpoint").first.wait_for()
    shown = page.locator("#figure-syntax_examples").text_content()
    assert "treebank" in shown
    assert page.locator("#table-syntax td", has_text="<i>odd</i>").count() == 1
    page.locator("#figure-syntax_examples .updatemenu-header").click()
    page.locator("#figure-syntax_examples .updatemenu-dropdown-button", has_text="conj").click()
    page.locator("#figure-syntax_examples .textpoint", has_text="purred").first.wait_for()
    page.close()
    assert trouble == []
