"""What the box at the foot of a page says works when it is pasted."""

from __future__ import annotations

import shlex
import subprocess
import sys

import pytest

import eyeline as el
from eyeline.hosts.app.address import Looking
from eyeline.hosts.app.corpus import recipe as corpus_recipe
from eyeline.hosts.app.corpus.page import ANALYSES
from eyeline.hosts.app.look import recipe
from eyeline.hosts.app.recipe import CorpusFile

LOOKINGS = [
    Looking("The cat sat.", "", "minilm", "head", {"layer": 5, "heads": [11]}),
    Looking('It\'s a "quoted" $HOME `x` \\ text', "-- second", "minilm", "neuron", {"layer": 0, "heads": [2]}),
    Looking("-o begins with a dash", "", "minilm", "model", {"layer": 2, "heads": [1], "opened": True}),
]


def python(code: str, folder) -> None:
    done = subprocess.run([sys.executable, "-c", code], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def console(line: str, folder) -> None:
    words = shlex.split(line)
    assert words[0] == "eyeline"
    program = "import sys; sys.argv[0] = 'eyeline'; from eyeline.hosts.cli.main import main; main()"
    done = subprocess.run([sys.executable, "-c", program, *words[1:]], cwd=folder, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


def test_looking_works_in_python(tmp_path):
    """All in one program: each is pasted after the other."""
    parts = [recipe.python(looking, "minilm", looking.state).replace("view.html", f"{i}.html") for i, looking in enumerate(LOOKINGS)]
    python("\n".join(parts), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"0.html", "1.html", "2.html", "head.svg"}


@pytest.mark.parametrize(
    ("looking", "tokens"), [(LOOKINGS[1], '"quoted"'), (LOOKINGS[2], '"begins","with","a","dash"')], ids=["quotes", "dash"]
)
def test_looking_works_on_the_command_line(looking, tokens, tmp_path):
    console(recipe.console(looking, "minilm", looking.state), tmp_path)
    assert tokens in (tmp_path / "view.html").read_text()


def test_an_analysis_works_in_python_and_on_the_command_line(tmp_path):
    only = [name for name in ANALYSES if name != "importance"]
    code = corpus_recipe.python("minilm", CorpusFile("corpus.txt", is_sample=True), only, 4)
    python(code + '\nrun = el.runs.open_run("run")\nel.figure(run, "entropy")', tmp_path)
    first = el.runs.open_run(tmp_path / "run")
    (tmp_path / "corpus.txt").unlink()
    for line in (
        corpus_recipe.console("minilm", CorpusFile("corpus.txt", is_sample=True), only, 4).replace("-o run", "-o again").splitlines()
    ):
        console(line, tmp_path)
    assert el.runs.open_run(tmp_path / "again").table("entropy").to_csv() == first.table("entropy").to_csv()
