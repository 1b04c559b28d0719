"""A name from a file becomes a path only where it stays in its folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from eyeline.errors import StorageError
from eyeline.storage.names import path_in

BAD = [
    "..",
    ".",
    "",
    "a/b",
    "/etc/passwd",
    "\\\\server\\share",
    "a\\b",
    "C:x",
    "a\0b",
    "~root",
    ".hidden",
    "a\nb",
    " a",
    "x" * 121,
    3,
    None,
    "\x1b[31m",
]


@pytest.mark.parametrize("name", BAD, ids=repr)
def test_a_name_that_leads_elsewhere_is_refused(name: object, tmp_path: Path) -> None:
    with pytest.raises(StorageError, match="is no name for a file"):
        path_in(tmp_path, name, ".csv")


@pytest.mark.parametrize("name", ["entropy", "head_map_cross", "猫", "a b", "x.y"])
def test_a_plain_name_is_a_file_of_the_folder(name: str, tmp_path: Path) -> None:
    assert path_in(tmp_path, name, ".csv").parent == tmp_path
