"""The examples in the documentation run, as written."""

from __future__ import annotations

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]


def blocks(language: str) -> list:
    found = []
    for page in PAGES:
        for number, block in enumerate(re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)):
            found.append(pytest.param(block, id=f"{page.name}-{number}"))
    return found


@pytest.mark.parametrize("block", blocks("python"))
def test_python_examples_run(block, tmp_path):
    done = subprocess.run([sys.executable, "-c", block], capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("block", blocks("console"))
def test_console_examples_run(block, tmp_path):
    commands = [line[2:] for line in block.splitlines() if line.startswith("$ eyeline ")]
    assert commands, "a console block without an eyeline command tests nothing"
    for command in commands:
        arguments = shlex.split(command, comments=True)[1:]
        run = [sys.executable, "-c", "from eyeline.hosts.cli.main import main; main()", *arguments]
        done = subprocess.run(run, capture_output=True, text=True, cwd=tmp_path, check=False, timeout=300)
        assert done.returncode == 0, done.stderr


OTHERS = [ROOT / name for name in ("ARCHITECTURE.md", "CONTRIBUTING.md", "CHANGELOG.md", "benchmarks/README.md")]


@pytest.mark.parametrize("page", [*PAGES, *OTHERS], ids=lambda page: page.parent.name + "-" + page.name)
def test_links_lead_somewhere(page):
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text())
    missing = [target for target in targets if not (page.parent / target).exists()]
    assert not missing
