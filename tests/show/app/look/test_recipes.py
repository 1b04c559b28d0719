"""What the box at the foot of a page says works when it is pasted."""

from __future__ import annotations

import shlex
import sys

import pytest

import eyeline as el
from eyeline.measure.statistics.options import AnalyseOptions
from eyeline.show.app import corpus as corpus_recipe
from eyeline.show.app import look
from eyeline.show.app.jobs.corpus import CorpusRequest, analyses
from eyeline.show.app.kit.address import Looking
from eyeline.show.app.kit.page import CorpusFile
from eyeline.show.cli import main as cli

LOOKINGS = [
    Looking("The cat sat.", "", "minilm", "head", {"layer": 5, "heads": [11]}),
    Looking('It\'s a "quoted" $HOME `x` \\ text', "-- second", "minilm", "neuron", {"layer": 0, "heads": [2]}),
    Looking("-o begins with a dash", "", "minilm", "model", {"layer": 2, "heads": [1], "opened": True}),
]


@pytest.fixture(autouse=True)
def _elsewhere(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def python(code: str) -> None:
    exec(compile(code, "pasted", "exec"), {})  # noqa: S102 - our own words


@pytest.fixture
def console(monkeypatch, capfd):
    """Run a line as a shell would, in this process."""

    def run(line: str) -> None:
        words = shlex.split(line)
        assert words[0] == "eyeline"
        monkeypatch.setattr(sys, "argv", words)
        try:
            cli.main()
        except SystemExit as stop:
            assert not stop.code, f"{line}\n{capfd.readouterr().err}"

    return run


def test_looking_works_in_python(tmp_path):
    """All in one program: each is pasted after the other."""
    parts = [look.python(looking, "minilm", looking.state).replace("view.html", f"{i}.html") for i, looking in enumerate(LOOKINGS)]
    python("\n".join(parts))
    assert {path.name for path in tmp_path.iterdir()} == {"0.html", "1.html", "2.html", "head.svg"}


@pytest.mark.parametrize(
    ("looking", "tokens"), [(LOOKINGS[1], '"quoted"'), (LOOKINGS[2], '"begins","with","a","dash"')], ids=["quotes", "dash"]
)
def test_looking_works_on_the_command_line(looking, tokens, console, tmp_path):
    console(look.console(looking, "minilm", looking.state))
    assert tokens in (tmp_path / "view.html").read_text()


@pytest.mark.slow
def test_an_analysis_works_in_python_and_on_the_command_line(console, tmp_path):
    only = [name for name in analyses() if name != "importance"]
    request = CorpusRequest(tuple(only), AnalyseOptions(limit=4, window=True))
    code = corpus_recipe.python("minilm", CorpusFile("corpus.txt", is_sample=True), request)
    python(code + '\nrun = el.runs.open_run("run")\nel.figure(run, "entropy")')
    first = el.runs.open_run(tmp_path / "run")
    (tmp_path / "corpus.txt").unlink()
    for line in (
        corpus_recipe.console("minilm", CorpusFile("corpus.txt", is_sample=True), request).replace("-o run", "-o again").splitlines()
    ):
        console(line)
    assert el.runs.open_run(tmp_path / "again").table("entropy").to_csv() == first.table("entropy").to_csv()
