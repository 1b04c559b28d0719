"""How to install what is missing is said once, and names no package of somebody else."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from eyeline.errors import EyelineError, install_hint

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def test_the_install_hint_names_the_extras_and_a_clone():
    assert install_hint("app", "plots") == 'From a clone of eyeline: pip install ".[app,plots]"'


def test_the_install_hint_is_written_in_one_place():
    spelled = [
        f"{file.relative_to(ROOT)}: {line.strip()}"
        for file in sorted((ROOT / "src").rglob("*.py"))
        for line in file.read_text(encoding="utf-8").splitlines()
        if re.search(r"pip install|eyeline\[", line) and file.name != "errors.py"
    ]
    assert spelled == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_no_page_installs_eyeline_from_the_package_index(page):
    for line in re.findall(r"pip install[^`\n]*", page.read_text(encoding="utf-8")):
        assert "eyeline" not in line, "eyeline is not on PyPI: pip install from a clone"


def test_an_error_shows_control_characters_and_sends_none():
    message = str(EyelineError("x\x1b[31m.txt: no such file.", "a\x07b\u202ec"))
    assert message == "x\\x1b[31m.txt: no such file.\n  a\\x07b\\u202ec"
