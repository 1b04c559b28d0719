"""ARCHITECTURE.md describes the tree that is there."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "eyeline"
TEXT = (ROOT / "ARCHITECTURE.md").read_text(encoding="utf-8")


def named_in(text: str) -> list[str]:
    """The files that a text names in backticks."""
    return re.findall(r"`([\w./-]+/[\w.-]+\.\w+)`", text)


def test_every_file_that_it_names_exists():
    """Relative to the package, to the repository, or, in the table of folders, to a folder."""
    there = {path for path in named_in(TEXT) if (PACKAGE / path).exists() or (ROOT / path).exists() or any(PACKAGE.glob(f"*/{path}"))}
    assert [path for path in named_in(TEXT) if path not in there and "NAME" not in path and "*" not in path] == []


def test_every_folder_is_in_its_table():
    """By its path or that of a file in it, or by its name in the row of the folder that it is in."""
    folders = [path.parent for path in PACKAGE.rglob("__init__.py") if [*path.parent.glob("[!_]*.py")] and path.parent != PACKAGE]
    table = TEXT.split("## The folders")[1].split("\n## ")[0]
    missing = [folder for folder in folders if f"`{folder.relative_to(PACKAGE)}/" not in table and f"`{folder.name}/`" not in table]
    assert [str(folder.relative_to(PACKAGE)) for folder in missing] == []


def test_every_name_in_the_table_is_defined_in_the_file_beside_it():
    """`RULES` in `measure/corpus/distances.py` and the like."""
    pairs = re.findall(r"`([A-Z_]+|[a-z_]+)` (?:of|in) `([\w/]+/[\w]+\.py)`", TEXT)
    assert len(pairs) > 5
    assert [(name, path) for name, path in pairs if name not in defined(PACKAGE / path)] == []


def defined(path: Path) -> set[str]:
    """The names that a file defines at top level."""
    names: set[str] = set()
    for node in ast.parse(path.read_text(encoding="utf-8")).body:
        match node:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.AnnAssign(target=ast.Name(id=name)):
                names.add(name)
            case ast.Assign(targets=targets):
                names.update(target.id for target in targets if isinstance(target, ast.Name))
    return names
