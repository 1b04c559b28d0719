"""docs/coverage.md: every call and every command in it runs, and every page exists."""

from __future__ import annotations

import re
import shlex
import sys
from pathlib import Path

import pytest

from eyeline.hosts.cli import main as cli
from eyeline.sample.text import sample_text

PAGE = Path(__file__).parents[1] / "docs" / "coverage.md"
ROWS = re.findall(r"^\| (?!asked for)(.+?) \| (call|command|page|not yet) \| (.+) \|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)


def code_of(kind: str) -> list[str]:
    return [re.findall(r"`([^`]+)`", where)[0] for _, by, where in ROWS if by == kind]


def test_every_section_is_answered_and_every_page_exists():
    text = PAGE.read_text(encoding="utf-8")
    assert [line[3] for line in text.splitlines() if line.startswith("## ")] == list("ABCDE")
    assert len(ROWS) == sum(line.startswith("| ") for line in text.splitlines()) - 5  # each table has a line of titles
    pages = [where for _, by, where in ROWS if by == "page"]
    targets = [target for where in pages for target in re.findall(r"\]\(([^)#]+)", where)]
    assert len(targets) >= len(pages)
    assert [target for target in targets if not (PAGE.parent / target).exists()] == []


@pytest.fixture(scope="module")
def names():
    """What the first block of the page defines."""
    block = re.findall(r"^```python\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)[0]
    defined: dict[str, object] = {}
    exec(compile(block, "<coverage>", "exec"), defined)  # noqa: S102 - our own text
    return defined


@pytest.mark.parametrize("call", code_of("call"))
def test_every_call_runs(names, call, tmp_path, monkeypatch):
    monkeypatch.setenv("EYELINE_CACHE", str(tmp_path))
    assert eval(compile(call, "<coverage>", "eval"), dict(names)) is not None  # noqa: S307 - our own text


def test_every_command_runs_in_the_order_of_the_page(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    Path("sample.txt").write_text("\n\n".join(sample_text().split("\n\n")[:4]), encoding="utf-8")
    for command in code_of("command"):
        monkeypatch.setattr(sys, "argv", shlex.split(command))
        try:
            cli.main()
        except SystemExit as stop:
            assert not stop.code, f"{command}\n{capfd.readouterr().err}"
