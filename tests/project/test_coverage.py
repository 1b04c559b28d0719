"""docs/project/coverage.md: every call and every command in it runs, and every page exists. Views and the app's pages have tests of
their own, tests/browser/test_coverage_views.py and tests/show/app/test_coverage_app.py."""

from __future__ import annotations

import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

import eyeline as el
from eyeline.show.cli import main as cli
from tests.project.coverage_page import KINDS, PAGE, answers, page_text

pytestmark = pytest.mark.usefixtures("quick_pictures")


def test_every_section_is_answered_and_every_page_exists():
    sections = page_text().split("\n## ")[1:]
    assert [section[0] for section in sections] == list("ABCDEF")
    rows = sum(line.startswith("| ") for section in sections for line in section.splitlines())
    assert len(answers(*KINDS)) == rows - len(sections)  # each table has a line of titles
    targets = [target for answer in answers("page") for target in re.findall(r"\]\(([^)#]+)", answer.cell)]
    assert len(targets) >= len(answers("page"))
    assert [target for target in targets if not (PAGE.parent / target).exists()] == []


@pytest.fixture(scope="module")
def names():
    """What the first block of the page defines."""
    block = re.findall(r"^```python\n(.*?)^```", page_text(), re.DOTALL | re.MULTILINE)[0]
    defined: dict[str, object] = {}
    exec(compile(block, "<coverage>", "exec"), defined)  # noqa: S102 - our own text
    return defined


def check_call(names, call, folder, monkeypatch):
    monkeypatch.setenv("EYELINE_CACHE", str(folder / "cache"))
    monkeypatch.chdir(folder)
    assert eval(compile(call, "<coverage>", "eval"), dict(names)) is not None  # noqa: S307 - our own text


@pytest.mark.slow
@pytest.mark.parametrize("call", dict.fromkeys(answer.code[0] for answer in answers("call")))
def test_every_call_runs(names, call, tmp_path, monkeypatch):
    check_call(names, call, tmp_path, monkeypatch)


@pytest.mark.slow
@pytest.mark.parametrize("call", [answer.code[0] for answer in answers("slow call")])
def test_every_slow_call_runs(names, call, tmp_path, monkeypatch):
    check_call(names, call, tmp_path, monkeypatch)


def run_commands(commands: Sequence[str], monkeypatch, capfd) -> None:
    """In the present folder, each in the order of the page; what a command writes, later ones may read."""
    Path("sample.txt").write_text("\n\n".join(el.corpora.sample_text().split("\n\n")[:4]), encoding="utf-8")
    Path("one.txt").write_text("the brown capybara is sleeping now\n", encoding="utf-8")
    Path("glove.txt").write_text("the 0.1 0.2 0.3\na 0.3 -0.1 0.2\nand 0.2 0.2 -0.3\n", encoding="utf-8")
    for command in commands:
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        try:
            cli.main()
        except SystemExit as stop:
            assert not stop.code, f"{command}\n{capfd.readouterr().err}"
        output = shlex.split(command)[shlex.split(command).index("-o") + 1]
        assert Path(output).exists(), command


@pytest.mark.slow  # each of these commands has a quick test in tests/show/cli
@pytest.mark.parametrize("section", "ABCDEF")
def test_every_command_runs_in_the_order_of_the_page(section, tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    chosen = commands_of(section)
    run_commands([*NEEDED_BY[section], *chosen], monkeypatch, capfd)


def commands_of(section: str) -> list[str]:
    text = next(part for part in page_text().split("\n## ")[1:] if part.startswith(section))
    return [answer.code[0] for answer in answers("command") if f"| command | {answer.cell} |" in text]


#: What a section's commands read and another's have written.
BANK = "eyeline sample-treebank -n 40 -o bank.conllu"
PROBE = "eyeline probe bank.conllu --model minilm --layers 2,3 --seeds 1 --epochs 3 -o probe"
NEEDED_BY = {"A": [], "B": [], "C": [], "D": [], "E": [BANK, PROBE], "F": [BANK]}


@pytest.mark.slow
def test_every_slow_command_runs(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    run_commands([answer.code[0] for answer in answers("slow command")], monkeypatch, capfd)
