"""The analyses of Clark et al. 2019 in one piece of work: what it states equals plain loops, and what was interrupted goes on."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.measure.paper import run as paper
from eyeline.measure.paper.options import Amounts
from eyeline.measure.paper.run import PaperTable, Sources, measure_paper, statements, tables
from eyeline.measure.runs.progress import StopRequestedError
from eyeline.show.cli.main import app
from eyeline.show.paper import latex, markdown, write_paper
from eyeline.words import LANGUAGES, Words
from tests.laws.statistics import new_tiny_model
from tests.show.app.small_runs import save_shallow

FEW = Amounts(segments=3, sentences=24, min_count=3, training=None, seeds=1, epochs=2)


@pytest.fixture(scope="module")
def shallow(minilm: el.Model, tmp_path_factory: pytest.TempPathFactory) -> el.Model:
    """The first two layers of minilm."""
    folder = tmp_path_factory.mktemp("shallow") / "model"
    save_shallow(minilm, folder)
    return el.load(folder)


@pytest.fixture(scope="module")
def folder(shallow: el.Model, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    folder = tmp_path_factory.mktemp("paper") / "run"
    folder.mkdir()
    measure_paper(shallow, folder, amounts=FEW)
    return folder


def test_every_statement_equals_a_plain_loop(folder: Path) -> None:
    run = el.open(folder)
    found = {item.key: item.measured for item in statements(run)}
    shares = list(run.table("average_attention").rows())
    for target, key in (("previous", "previous"), ("next", "next")):
        assert found[key] == str(sum(row["mean"] > 0.5 for row in shares if row["target"] == target))
    by_layer = {
        layer: np.mean([row["mean"] for row in shares if row["target"] == "sep_from_sep" and row["layer"] == layer]) for layer in (0, 1)
    }
    assert found["sep_to_sep"] == f"{100 * max(by_layer.values()):.0f} %"
    entropies = [row["cls"] for row in run.table("entropy").rows() if row["layer"] == 1]
    assert found["cls_entropy"] == f"{np.mean(entropies):.2f}"
    same, across = [], []
    square = run.table("distances")
    for row in square.rows():
        for name in square.columns["head"]:
            if name != row["head"]:
                layers = {el.HeadRef.parse(str(each)).layer for each in (row["head"], name)}
                (same if len(layers) == 1 else across).append(row[str(name)])
    assert found["same_layer"] == f"{np.mean(same) / np.mean(across):.2f}"


def test_the_gradient_of_later_layers_is_that_after_the_first_third() -> None:
    table = el.runs.Table({"layer": [0, 1, 2, 3, 4, 5], "target": ["sep"] * 6, "mean": [4.0, 2.0, 1.0, 1.0, 1.0, 3.0]})

    class Measured:
        def table(self, name: str) -> el.runs.Table:
            return {"importance": table}[name]

    assert paper._later_over_earlier(Measured()) == pytest.approx(1.5 / 3)  # type: ignore[arg-type]


def test_tables_have_the_published_numbers_beside_those_of_the_run(folder: Path) -> None:
    run = el.open(folder)
    first, second, third = tables(run)
    rows = {row[0]: dict(zip(first.columns, row, strict=True)) for row in first.rows}
    assert (rows["dobj"]["paper_head"], rows["dobj"]["paper_accuracy"], rows["dobj"]["paper_baseline"]) == ("L7·H9", "86.8", "40.0 (-2)")
    measured = next(row for row in run.table("syntax").rows() if row["relation"] == "det")
    assert rows["det"]["accuracy"] == f"{measured['accuracy']:.1f}"
    assert len(paper.TABLE_1) <= len(rows)
    assert {row[0].partition(" L")[0]: row[5] for row in second.rows}["rule-based"] == "69"
    assert [row[-1] for row in third.rows] == ["26", "58", "61", "77", "30"]


def test_what_is_finished_is_kept_and_another_model_is_refused(folder: Path, shallow: el.Model, monkeypatch: pytest.MonkeyPatch) -> None:
    before = (folder / "run.json").read_bytes()
    measured: list[str] = []
    monkeypatch.setattr(paper, "analyse", lambda *_, **__: measured.append("analyse"))
    measure_paper(shallow, folder, amounts=FEW, resume=True)
    assert (measured, (folder / "run.json").read_bytes()) == ([], before)
    with pytest.raises(el.EyelineError, match="holds analyses of another model"):
        measure_paper(new_tiny_model(), folder, amounts=FEW, resume=True)
    with pytest.raises(el.EyelineError, match="holds a run of analyse"):
        measure_paper(shallow, folder, amounts=FEW)


def test_an_interrupted_paper_goes_on_to_the_same_numbers(folder: Path, shallow: el.Model, tmp_path: Path) -> None:
    def stop_at_reference(progress: object) -> None:
        if "coreference" in str(progress):
            raise StopRequestedError

    with pytest.raises(StopRequestedError):
        measure_paper(shallow, tmp_path, amounts=FEW, progress=stop_at_reference)
    assert set(json.loads((tmp_path / "run.json").read_text())["parts"]) == {"analyse", "syntax"}
    again = measure_paper(shallow, tmp_path, amounts=FEW, resume=True)
    whole = el.open(folder)
    assert [table.to_csv() for table in again.tables.values()] == [table.to_csv() for table in whole.tables.values()]


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_page_has_every_figure_and_table(folder: Path, tmp_path: Path, language: str) -> None:
    page = write_paper(el.open(folder), tmp_path, language=language).read_text()
    words = Words(language)
    for number in (1, 2, 4, 5, 6):
        assert words("paper.figure", n=number) in page
    assert words("paper.missing_3") in page  # minilm has no answer
    assert all(words("paper.table", n=number) in page for number in (1, 2, 3))
    assert page.count("<svg") >= 3
    assert not re.search(r"(src|href)=.?https?:", re.sub(r"<script>.*?</script>", "", page, flags=re.DOTALL))
    assert sorted(path.name for path in (tmp_path / "tables").iterdir()) == [f"table-{n}.{end}" for n in (1, 2, 3) for end in ("md", "tex")]
    assert "Clark et al. (2019)" in (tmp_path / "methods.md").read_text()


def test_cells_with_signs_of_latex_and_markdown_stay_text() -> None:
    table = PaperTable(2, ("method", "all"), ((r"a|b & 5 % \x_{y} L3·H7", "−1"),))
    assert r"a|b \& 5 \% \textbackslash{}x\_\{y\} L3$\cdot$H7 & $-$1 \\" in latex(table, Words())
    assert r"| a\|b & 5 % \x_{y} L3·H7 | −1 |" in markdown(table, Words())


PENN = """1\tThe\t_\tDT\tDT\t_\t2\tdet\t_\t_
2\tcat\t_\tNN\tNN\t_\t3\tnsubj\t_\t_
3\tsaw\t_\tVBD\tVBD\t_\t0\troot\t_\t_
4\ta\t_\tDT\tDT\t_\t5\tdet\t_\t_
5\tdog\t_\tNN\tNN\t_\t3\tdobj\t_\t_
6\t.\t_\t.\t.\t_\t3\tpunct\t_\t_
"""


def test_a_penn_treebank_in_stanford_labels_is_read_as_it_is(shallow: el.Model, tmp_path: Path) -> None:
    (tmp_path / "wsj.conllx").write_text("\n".join([PENN] * 6))
    run = el.syntax(shallow, tmp_path / "wsj.conllx", labels="as-is", min_count=5)
    assert {"det", "nsubj", "dobj"} <= set(run.table("syntax")["relation"])
    (tmp_path / "wsj_0001.mrg").write_text("( (S (NP (DT The) (NN cat)) (VP (VBD sat)) (. .)) )")
    with pytest.raises(el.EyelineError, match=r"(?s)phrase structure.*EnglishGrammaticalStructure"):
        el.treebanks.read_treebank(tmp_path / "wsj_0001.mrg")


@pytest.mark.slow
def test_the_command_reads_real_formats_and_writes_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, minilm: el.Model) -> None:
    monkeypatch.chdir(tmp_path)
    save_shallow(minilm, tmp_path / "model")
    Path("wsj.conllx").write_text("\n".join(PENN.replace("cat", f"cat{n}") for n in range(24)))
    Path("glove.6B.3d.txt").write_text("the 1 0 0\ncat 0 1 0\ndog 0 1 1\nsaw 1 1 0\na 1 0 1\n. 0 0 1\n")
    sources = "--treebank wsj.conllx --glove glove.6B.3d.txt --segments 2 --min-count 5 --training 10"
    shown = CliRunner().invoke(app, f"paper model -o out --pictures svg {sources}".split())
    assert shown.exit_code == 0, shown.output
    assert "Page: out/paper.html" in shown.output.replace("\n", "")
    run = el.open(tmp_path / "out" / "run")
    assert run.parts["syntax"].facts.options.labels == "as-is"
    assert run.parts["probe"].facts.words.dims == 3
    assert {"figure-2-average_attention.svg", "figure-6-head_map.svg"} <= {path.name for path in (tmp_path / "out" / "figures").iterdir()}
    assert Sources().labels == "stanford"
