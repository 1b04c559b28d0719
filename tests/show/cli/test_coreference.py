"""`eyeline coreference` as a user meets it, and its part of a run's folder and report."""

from __future__ import annotations

import csv
import json
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.errors import StorageError, TextError
from eyeline.show.cli import coreference as coreference_command
from eyeline.show.cli.main import app
from tests.laws.statistics import tiny_model
from tests.look.views.front_end import use_small_front_end
from tests.text.corpora.marked import as_conll2012, as_conllu, as_json

ODD = "<b>x</b></script>"
SENTENCES = (("the", "cat", "sat", "on", "the", "mat"), ("it", "purred", ",", "and", ODD, "ran", "home"), ("a", "dog", "saw", "it"))
MENTIONS = (
    el.mentions.Mention(0, 1, 1, 0, "nominal", "sg"),
    el.mentions.Mention(4, 5, 5, 1, "nominal", "sg"),
    el.mentions.Mention(6, 6, 6, 0, "pronoun", "sg"),
    el.mentions.Mention(10, 10, 10, 0, "proper", "sg"),
    el.mentions.Mention(13, 14, 14, 2, "nominal", "sg"),
    el.mentions.Mention(16, 16, 16, 0, "pronoun", "sg"),
)
DOCUMENTS = [el.mentions.MarkedDocument(f"{ODD}-{i}", SENTENCES, MENTIONS) for i in range(3)]
FIGURES = ["coreference", "coreference_heads", "coreference_example"]


@pytest.fixture(autouse=True)
def _tiny(monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)
    monkeypatch.setattr("eyeline.models.load.load", lambda *_, **__: tiny_model())
    monkeypatch.setattr(coreference_command.console, "width", 200)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        use_small_front_end(patch)
        path = tmp_path_factory.mktemp("run")
        el.runs.write_report(el.coreference(tiny_model(), DOCUMENTS).save(path))
        return path


def corpus(folder: Path, text: str | None = None) -> str:
    path = folder / "corpus"
    path.write_text("".join(map(as_json, DOCUMENTS)) if text is None else text, encoding="utf-8")
    return str(path)


@pytest.mark.parametrize("text", [None, as_conll2012(DOCUMENTS), as_conllu(DOCUMENTS)], ids=["jsonl", "conll2012", "conllu"])
def test_a_corpus_in_a_report_out(tmp_path: Path, text: str | None) -> None:
    out = tmp_path / "run"
    result = CliRunner().invoke(app, ["coreference", corpus(tmp_path, text), "-o", str(out), "--layers", "0,2", "--seed", "1"])
    assert result.exit_code == 0, result.output
    assert re.search(r"rule-based +\d", result.output)
    assert "9 of 18 mentions are scored. 9 have no antecedent" in result.output
    with (out / "tables" / "coreference.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == ["method", "layer", "head", "all", "pronoun", "proper", "nominal", "n"]
    assert [row["method"] for row in rows] == ["nearest", "head match", "rule-based", "best head", "best head, held out"]
    assert {row["n"] for row in rows} == {"9"}
    assert rows[0]["layer"] == rows[0]["head"] == ""
    with (out / "tables" / "coreference_heads.csv").open(encoding="utf-8") as file:
        heads = list(csv.DictReader(file))
    assert len(heads) == 2 * 2 * 4  # layers, directions, heads
    assert list(json.loads((out / "run.json").read_text())["parts"]) == ["coreference"]


@pytest.mark.slow
def test_a_run_of_the_same_kind_is_replaced_only_when_asked(tmp_path: Path) -> None:
    arguments = ["coreference", corpus(tmp_path), "-o", str(tmp_path / "run")]
    assert CliRunner().invoke(app, arguments).exit_code == 0
    again = CliRunner().invoke(app, arguments)
    assert isinstance(again.exception, StorageError)
    assert "--overwrite" in again.exception.for_command_line
    assert CliRunner().invoke(app, [*arguments, "--overwrite", "--limit", "2"]).exit_code == 0
    assert el.runs.open_run(tmp_path / "run").facts.counts["documents"] == 2


def test_windows_and_the_first_of_them_are_options(tmp_path: Path) -> None:
    arguments = ["coreference", corpus(tmp_path), "--max-tokens", "28", "--first-window", "-o", str(tmp_path / "run")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    assert "lie in no window" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("options", "text", "says"),
    [
        ([], "A plain text.\n", "what kind of coreference corpus"),
        ([], "# sent_id = 1\n1\tHi\thi\tINTJ\tUH\t_\t0\troot\t_\t_\n\n", "no mentions"),
        (["--kind", "jsonl"], as_conll2012(DOCUMENTS), "not JSON"),
        (["--strict"], as_conll2012(DOCUMENTS).replace("(0)", "(0", 1), "never closed"),
        (["--max-tokens", "2"], None, "Windows of 2 tokens"),
        (["--limit", "0"], None, "A limit of 0"),
    ],
)
def test_what_cannot_be_scored_is_refused_in_words(tmp_path: Path, options: list[str], text: str | None, says: str) -> None:
    result = CliRunner().invoke(app, ["coreference", corpus(tmp_path, text), "-o", str(tmp_path / "run"), *options])
    assert isinstance(result.exception, TextError)
    assert says in str(result.exception)
    assert not (tmp_path / "run" / "run.json").exists()


def test_without_strict_a_bad_bracket_is_told_of(tmp_path: Path) -> None:
    text = as_conll2012(DOCUMENTS).replace("(0)", "(0", 1)
    result = CliRunner().invoke(app, ["coreference", corpus(tmp_path, text), "-o", str(tmp_path / "run")])
    assert result.exit_code == 0, result.output
    assert "malformed brackets: 1. The first:" in result.output


def test_a_corpus_without_pronouns_is_drawn_with_an_empty_group(tmp_path: Path) -> None:
    nouns = [el.mentions.MarkedDocument(d.id, d.sentences, tuple(m for m in d.mentions if m.type != "pronoun")) for d in DOCUMENTS]
    run = el.coreference(tiny_model(), nouns)
    report = el.runs.write_report(run.save(tmp_path / "run")).read_text(encoding="utf-8")
    assert "No scored mention is of type pronoun" in report
    bars = el.figure(run, "coreference").data
    assert all(bar.y[1] is None for bar in bars)
    assert bars[0].x[1].endswith("n = 0")


@pytest.mark.slow
def test_a_saved_run_draws_again_and_stands_beside_runs_of_other_kinds(folder: Path, tmp_path: Path) -> None:
    run = el.runs.open_run(folder)
    assert [name for name in FIGURES if el.figure(run, name).layout.title.text] == FIGURES
    assert "3 documents, 9 mentions" in el.figure(run, "coreference").layout.title.text
    el.analyse(tiny_model(), ["the cat sat on the mat . it purred ."], [el.statistics.Entropy()]).save(tmp_path)
    run.save(tmp_path)
    both = el.runs.open_run(tmp_path)
    assert list(both.parts) == ["analyse", "coreference"]
    assert len(both.table("coreference")) == 5
    page = el.runs.write_report(tmp_path).read_text(encoding="utf-8")
    assert "What heads know of reference" in page
    assert all((tmp_path / link).is_file() for link in re.findall(r'href="(views/[^"]+)"', page))


def test_arcs_are_red_where_the_head_is_right(folder: Path) -> None:
    run = el.runs.open_run(folder)
    mentions = [row for row in run.table("coreference_example").rows() if row["mention"]]
    arcs = el.figure(run, "coreference_example").layout.shapes
    wrong = sum(not row["right"] for row in mentions)
    assert len(mentions) == 3
    assert len(arcs) == len(mentions) + wrong
    assert sum(arc.line.color == "#d00000" for arc in arcs) == len(mentions)
    assert sum(arc.line.dash == "dot" for arc in arcs) == wrong


@pytest.mark.slow
@pytest.mark.browser
def test_the_report_draws_in_a_browser_and_words_are_never_markup(folder: Path, browser: Any) -> None:
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    page.on("request", lambda request: trouble.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto(f"file://{folder}/report.html")
    for name in FIGURES:
        page.locator(f"#figure-{name} .main-svg").first.wait_for()
    words = page.locator("#figure-coreference_example .textpoint").all_text_contents()
    assert sorted(word.strip() for word in words) == sorted(word for sentence in SENTENCES for word in sentence)
    assert page.locator("#figure-coreference_example .shapelayer path").count() >= 3
    page.locator("#figure-coreference_heads .updatemenu-button").nth(1).click()
    page.get_by_role("link", name="look at it").first.click()
    page.locator("#view", has_text="[CLS]").wait_for()
    page.close()
    assert trouble == []
