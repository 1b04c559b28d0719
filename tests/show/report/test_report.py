"""The run's folder and its report: complete, self-contained, and drawn by a real browser without asking the network."""

from __future__ import annotations

import csv
import html
import re
import shutil
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.errors import EyelineError, StorageError, TraceError
from eyeline.figures import FIGURES as CATALOGUE
from eyeline.measure.runs.figure import formula_html
from eyeline.measure.runs.pictures import WIDTH
from eyeline.messages import catalogue
from eyeline.show.cli import corpus as corpus_commands
from eyeline.show.cli.main import app
from eyeline.statistics import AverageAttention, Entropy, HeadDistances, Importance
from eyeline.words import Words
from tests.laws.statistics import tiny_model
from tests.look.views.front_end import use_small_front_end
from tests.models.families import open_family
from tests.tiers import slow_but

ODD = "</script><script>alert(1)</script> <img src=x onerror=alert(1)> &amp; cat"
TEXTS = ["the cat sat on the mat . it purred , and sat .", "a dog ran a very long way home , and it sat .", ODD]
STATISTICS = [
    AverageAttention({"animal": "cat|dog"}),
    Entropy(),
    HeadDistances(),
    Importance(),
]
FIGURES = ["average_attention", "entropy", "importance", "head_map", "distances"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with pytest.MonkeyPatch.context() as patch:
        use_small_front_end(patch)
        path = tmp_path_factory.mktemp("run")
        el.runs.write_report(el.analyse(tiny_model(), TEXTS, STATISTICS).save(path))
        return path


def rows(folder: Path, name: str) -> list[dict[str, str]]:
    with (folder / "tables" / f"{name}.csv").open(encoding="utf-8") as file:
        return list(csv.DictReader(file))


def test_every_file_is_there(folder: Path) -> None:
    for name in FIGURES:
        assert (folder / "figures" / f"{name}.html").is_file()
    assert (folder / "report.html").is_file()
    assert list((folder / "views").glob("L*-H*.html"))


def test_tables_have_the_columns_that_were_promised(folder: Path) -> None:
    assert list(rows(folder, "average_attention")[0]) == ["layer", "head", "target", "mean"]
    assert {row["target"] for row in rows(folder, "average_attention")} == {
        "cls", "sep", "sep_from_sep", "sep_from_other", "punctuation", "next", "previous", "self", "first", "special", "other", "animal",
    }  # fmt: skip
    assert list(rows(folder, "entropy")[0]) == ["layer", "head", "all", "cls", "uniform"]
    assert list(rows(folder, "importance")[0]) == ["layer", "target", "mean"]
    assert list(rows(folder, "head_map")[0]) == ["layer", "head", "x", "y", "behaviour"]
    distances = rows(folder, "distances")
    assert len(distances) == 12
    assert list(distances[0]) == ["head", *(row["head"] for row in distances)]


def test_a_saved_run_is_read_back(folder: Path) -> None:
    run = el.runs.open_run(folder)
    assert run.facts.counts["texts"] == 3
    assert len(run.table("entropy")) == 12
    assert el.figure(run, "entropy").layout.title.text.startswith("How broadly")
    with pytest.raises(TraceError, match="Did you mean entropy"):
        run.table("entropi")
    with pytest.raises(TraceError, match="Did you mean entropy"):
        el.figure(run, "entropi")


def test_a_folder_without_a_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="not a finished run"):
        el.runs.open_run(tmp_path)


def test_the_report_holds_plotly_once_and_every_link_leads_somewhere(folder: Path) -> None:
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert page.count("plotly.js v") == 1
    links = re.findall(r'href="([^"]+)"', page.split("</head>")[1])
    assert links
    assert all((folder / link).is_file() for link in links)


@pytest.mark.parametrize("family", slow_but(["t5"], ["t5", "bart"]))
def test_a_model_that_reads_and_writes_has_its_figures_for_each_stack(family: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)
    pairs = [("the cat sat on the mat .", "the mat"), ("a dog ran a very long way home", "it sat , and purred")]
    run = el.analyse(open_family(family), pairs, STATISTICS)
    el.runs.write_report(run.save(tmp_path))
    for stack in ("encoder", "decoder", "cross"):
        assert f"figure-head_map_{stack}" in (tmp_path / "report.html").read_text()
        assert len(el.runs.open_run(tmp_path).table(f"distances_{stack}")) == len(run.table("entropy").where(stack=stack))
        assert stack in el.figure(run, f"distances_{stack}").layout.title.text
    attention = run.table("average_attention")
    assert np.isfinite(attention["mean"]).all()
    assert "sep_from_sep" in attention.where(stack="encoder")["target"]
    assert "sep_from_sep" not in attention.where(stack="decoder")["target"]  # what is written has no separator yet
    assert "writes another" in run.facts.left_out["importance"]
    with pytest.raises(TraceError, match="no table 'importance'"):
        el.figure(run, "importance")


@pytest.mark.parametrize("ending", slow_but(["png"], ["png", "svg", "pdf"]))
def test_a_figure_can_be_had_as_a_picture(ending: str, folder: Path, tmp_path: Path, browser: Any) -> None:
    el.figures.save_figure(el.runs.open_run(folder), "entropy", tmp_path / f"entropy.{ending}")
    beginning = (tmp_path / f"entropy.{ending}").read_bytes()[:200]
    assert {"png": b"PNG", "svg": b"<svg", "pdf": b"%PDF"}[ending] in beginning


@pytest.mark.slow
def test_a_picture_is_as_high_as_its_figure(folder: Path, tmp_path: Path, browser: Any) -> None:
    run = el.runs.open_run(folder)
    el.figures.save_figure(run, "average_attention", tmp_path / "picture.png")
    width, height = struct.unpack(">II", (tmp_path / "picture.png").read_bytes()[16:24])  # of a PNG's header
    assert (width, height) == (2 * WIDTH, 2 * el.figure(run, "average_attention").layout.height)


def test_pictures_that_cannot_be_drawn_say_why(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    run = el.runs.open_run(folder)
    with pytest.raises(EyelineError, match="Choose png, svg or pdf"):
        el.figures.save_figure(run, "entropy", tmp_path / "entropy.gif")
    with pytest.raises(StorageError, match="there is no folder"):
        el.figures.save_figure(run, "entropy", tmp_path / "missing" / "entropy.png")
    monkeypatch.setenv("PATH", "")
    monkeypatch.delenv("BROWSER_PATH", raising=False)
    with pytest.raises(EyelineError, match="Install one"):
        el.figures.save_figure(run, "entropy", tmp_path / "entropy.png")


def test_figures_say_what_they_are_made_of(folder: Path) -> None:
    run = el.runs.open_run(folder)
    for name in FIGURES:
        title = el.figure(run, name).layout.title.text
        assert "tiny" in title
        assert "3 texts" in title


@pytest.mark.parametrize("language", ["ja", "ko"])
def test_the_report_is_written_in_another_language(language: str, folder: Path, tmp_path: Path) -> None:
    shutil.copytree(folder, tmp_path / "run")
    page = el.runs.write_report(tmp_path / "run", language).read_text(encoding="utf-8")
    words, body = Words(language), page.split("</head>")[1].split("<pre>")[0]
    assert f'<html lang="{language}">' in page
    text = re.sub(r"<script.*?</script>|<style.*?</style>", "", body, flags=re.DOTALL)
    for name in FIGURES:
        record = CATALOGUE[name]
        assert html.escape(record.title(words)) in text
        assert html.escape(record.meaning(words)) in text
        assert formula_html(record.formula) in text
    english = catalogue("en")
    phrases = [
        english[key] for key in english if key.startswith(("report.", "figure.")) and "{" not in english[key] and len(english[key]) > 6
    ]
    assert [phrase for phrase in phrases if phrase not in words.messages.values() and re.search(rf"\b{re.escape(phrase)}\b", text)] == []
    figure_page = (tmp_path / "run" / "figures" / "entropy.html").read_text(encoding="utf-8")
    assert CATALOGUE["entropy"].title(words) in figure_page


def test_a_language_that_is_not_there_is_refused(folder: Path) -> None:
    with pytest.raises(EyelineError, match="en, ja, ko"):
        el.runs.write_report(folder, "fr")


@pytest.mark.browser
@pytest.mark.parametrize("width", slow_but([360], [360, 1200]))
def test_the_report_draws_in_a_browser_and_asks_for_nothing(folder: Path, width: int, browser: Any) -> None:
    page = browser.new_page(viewport={"width": width, "height": 800})
    trouble: list[str] = []
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("console", lambda message: trouble.append(message.text) if message.type == "error" else None)
    page.on("dialog", lambda dialog: trouble.append(dialog.message))
    page.on("request", lambda request: trouble.append(request.url) if not request.url.startswith(("file:", "data:", "blob:")) else None)
    page.goto(f"file://{folder}/report.html")
    page.locator("#figure-distances .main-svg").first.wait_for()
    for name in FIGURES:
        box = page.locator(f"#figure-{name} .main-svg").first.bounding_box()
        assert box is not None
        assert box["width"] > 200
    drawn = page.locator("#figure-average_attention .points path").count()
    assert drawn == 12 * 12  # twelve heads, twelve targets
    page.locator("#figure-head_map .legendtext").first.wait_for()
    titles = page.locator("#figure-head_map :is(.legendtitletext, .legend2titletext)").all_text_contents()
    assert titles == [Words()("figure.head_map.colour"), Words()("figure.head_map.marker")]
    page.get_by_role("link", name="look at it").first.click()
    page.locator("#view", has_text="[CLS]").wait_for()
    page.close()
    assert trouble == []


@pytest.mark.browser
def test_on_a_phone_a_report_in_korean_breaks_lines_between_words_and_keeps_its_links_whole(
    folder: Path, tmp_path: Path, browser: Any
) -> None:
    shutil.copytree(folder, tmp_path / "run")
    el.runs.write_report(tmp_path / "run", "ko")
    page = browser.new_page(viewport={"width": 360, "height": 800})
    page.goto(f"file://{tmp_path}/run/report.html")
    link = page.locator("td a").first
    assert link.evaluate("link => link.getClientRects().length === 1 && link.getBoundingClientRect().height < 60")
    assert page.locator("p").first.evaluate("text => getComputedStyle(text).wordBreak") == "keep-all"
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.close()


class TestCommand:
    @pytest.fixture(autouse=True)
    def _tiny(self, monkeypatch: pytest.MonkeyPatch) -> None:
        use_small_front_end(monkeypatch)
        monkeypatch.setattr("eyeline.models.load.load", lambda *_, **__: tiny_model())
        monkeypatch.setattr(corpus_commands.console, "width", 200)

    def corpus(self, folder: Path) -> str:
        path = folder / "x.txt"
        path.write_text("\n".join([*TEXTS, "cat " * 100]), encoding="utf-8")
        return str(path)

    def test_a_corpus_in_a_report_out(self, tmp_path: Path) -> None:
        out = tmp_path / "run"
        result = CliRunner().invoke(app, ["analyse", self.corpus(tmp_path), "-o", str(out), "--only", "entropy", "--layers", "0,2"])
        assert result.exit_code == 0, result.output
        assert "1 of 4 documents skipped" in result.output
        assert "3 texts" in result.output
        assert {row["layer"] for row in rows(out, "entropy")} == {"0", "2"}

    def test_a_finished_run_is_not_overwritten_but_can_be_written_again(self, tmp_path: Path) -> None:
        arguments = ["analyse", self.corpus(tmp_path), "-o", str(tmp_path / "run"), "--only", "entropy"]
        assert CliRunner().invoke(app, arguments).exit_code == 0
        again = CliRunner().invoke(app, arguments)
        assert isinstance(again.exception, StorageError)
        before = (tmp_path / "run" / "tables" / "entropy.csv").read_bytes()
        (tmp_path / "run" / "tables" / "entropy.csv").unlink()
        assert CliRunner().invoke(app, [*arguments, "--resume"]).exit_code == 0
        assert (tmp_path / "run" / "tables" / "entropy.csv").read_bytes() == before

    @pytest.mark.parametrize(
        "option", [["--target", "x"], ["--layers", "a"], ["--target", "cls=x"], ["--target", "x=("], ["--only", "entropi"]]
    )
    def test_wrong_options_are_refused(self, tmp_path: Path, option: list[str]) -> None:
        result = CliRunner().invoke(app, ["analyse", self.corpus(tmp_path), "-o", str(tmp_path / "run"), *option])
        assert result.exit_code != 0
        assert not (tmp_path / "run" / "run.json").exists()


def test_a_figure_of_a_replaced_run_goes_and_a_page_of_somebody_else_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    use_small_front_end(monkeypatch)
    el.runs.write_report(el.analyse(tiny_model(), TEXTS[:2], [Entropy(), AverageAttention()]).save(tmp_path))
    (tmp_path / "figures" / "causes.html").write_text("<p>my own figure</p>")
    el.runs.write_report(el.analyse(tiny_model(), TEXTS[:2], [AverageAttention()]).save(tmp_path))
    assert {path.name for path in (tmp_path / "figures").iterdir()} == {"average_attention.html", "causes.html"}


@pytest.mark.parametrize("name", ["figures", "views"])
def test_a_report_is_not_written_through_a_link(tmp_path: Path, name: str) -> None:
    el.analyse(tiny_model(), TEXTS[:2], [Entropy()]).save(tmp_path / "run")
    (tmp_path / "outside").mkdir()
    (tmp_path / "run" / name).symlink_to(tmp_path / "outside")
    with pytest.raises(StorageError, match="leads out of its folder"):
        el.runs.write_report(tmp_path / "run")
    assert not list((tmp_path / "outside").iterdir())
