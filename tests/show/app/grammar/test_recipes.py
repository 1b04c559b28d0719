"""What the boxes of the Grammar and Space pages say works when it is pasted, and the two ways give the same tables."""

from __future__ import annotations

import shlex

import numpy as np
import pytest
from typer.testing import CliRunner

import eyeline as el
from eyeline.measure.compare.options import CompareOptions
from eyeline.measure.grammar.options import SyntaxOptions
from eyeline.measure.space.options import SpaceOptions
from eyeline.show.app import grammar as grammar_recipe
from eyeline.show.app import space as space_recipe
from eyeline.show.app.jobs.grammar import ANALYSES, request_of
from eyeline.show.app.kit.page import CorpusFile
from eyeline.show.cli.main import app
from tests.show.app.small_runs import TEXTS

pytestmark = pytest.mark.usefixtures("quick_pictures", "quick_probes")

FILE = CorpusFile("my 'own' $text.txt")


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / FILE.name).write_text("\n\n".join(TEXTS))


def python(code: str) -> None:
    exec(compile(code, "pasted", "exec"), {})  # noqa: S102 - our own words


def console(lines: str) -> None:
    """Line after line, as a shell would."""
    for line in lines.replace("-o run", "-o again").splitlines():
        words = shlex.split(line)
        assert words[0] == "eyeline"
        done = CliRunner().invoke(app, words[1:], catch_exceptions=False)
        assert done.exit_code == 0, done.output


def same_tables(names: tuple[str, ...]) -> None:
    first, second = el.runs.open_run("run"), el.runs.open_run("again")
    for name in names:
        assert first.table(name).to_csv() == second.table(name).to_csv()


@pytest.mark.slow
def test_grammar_works_in_python_and_on_the_command_line(shallow):
    given = (str(shallow), grammar_recipe.SAMPLE_FILE, 30, request_of(ANALYSES, SyntaxOptions(limit=30, min_count=8)))
    python(grammar_recipe.python(*given))
    console(grammar_recipe.console(*given))
    same_tables(("syntax", "coreference", "probes"))
    assert len(el.runs.open_run("run").table("syntax")) > 4


def test_the_recipe_for_a_file_of_ones_own_makes_no_sentences_and_holds_any_name():
    given = ("minilm", "my 'own' $file.conllu", None, request_of(("coreference",), SyntaxOptions(limit=5)))
    assert "write_sample" not in grammar_recipe.python(*given)
    (line,) = grammar_recipe.console(*given).splitlines()
    assert shlex.split(line)[2] == "my 'own' $file.conllu"
    compile(grammar_recipe.python(*given), "pasted", "exec")


@pytest.mark.slow
def test_a_space_works_in_python_and_on_the_command_line(shallow, tmp_path):
    options = SpaceOptions(project="pca", gauge="lifted", dims=3, limit=2, max_tokens=256)
    python(space_recipe.python(str(shallow), FILE, options))
    console(space_recipe.console(str(shallow), FILE, options))
    same_tables(("space",))
    assert el.runs.open_space("again").dims == 3
    assert (tmp_path / "space.html").stat().st_size > 100_000


@pytest.mark.slow
def test_a_comparison_with_the_untrained_model_works_in_python_and_on_the_command_line(shallow, tmp_path):
    options = CompareOptions(limit=1, max_tokens=256)
    python(space_recipe.compare_python(str(shallow), None, FILE, options))
    console(space_recipe.compare_console(str(shallow), None, FILE, options))
    first, second = (el.runs.open_run(folder).table("compare")["js"].astype(float) for folder in ("run", "again"))
    assert np.allclose(first, second, atol=1e-6)
    assert first.max() > 0.1, "an untrained model attends otherwise"
    assert (tmp_path / "compare.html").is_file()
