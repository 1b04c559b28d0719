"""ARCHITECTURE.md describes the tree that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eyeline"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")
WALKS = [part.split("\n\n**")[0] for part in re.split(r"\n\*\*A ", TEXT.split("## Three requests")[1].split("\n## ")[0])[1:]]


def named_in(text: str) -> list[str]:
    """The files that a text names in backticks."""
    return re.findall(r"`([\w./-]+/[\w.-]+\.\w+)`", text)


def test_every_file_that_it_names_exists():
    """Relative to the package, to the repository, or, in the table of folders, to a folder."""
    there = {path for path in named_in(TEXT) if (PACKAGE / path).exists() or (ROOT / path).exists() or any(PACKAGE.glob(f"*/{path}"))}
    assert [path for path in named_in(TEXT) if path not in there and "NAME" not in path and "*" not in path] == []


def test_every_folder_is_in_its_table():
    folders = {path.name for path in PACKAGE.iterdir() if path.is_dir() and (path / "__init__.py").is_file()}
    table = TEXT.split("## The folders")[1].split("\n## ")[0]
    assert {folder for folder in folders if f"`{folder}/`" not in table} == set()


def test_three_requests_are_walked():
    assert len(WALKS) == 3


@pytest.mark.parametrize("walk", WALKS, ids=["view", "corpus", "click"])
def test_a_walk_enters_no_file_twice(walk):
    files = named_in(walk)
    assert len(files) > 8
    assert [path for path in files if files.count(path) > 1] == []
