"""Files are written whole, flushed before and after they are renamed, and what killed processes left is swept."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from eyeline.errors import StorageError
from eyeline.storage import files
from eyeline.storage.files import make_folder, replacing, sweep, write_whole


def test_a_file_is_flushed_before_the_rename_and_its_folder_after_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    steps: list[str] = []
    flush, replace = files.flush, os.replace
    monkeypatch.setattr(files, "flush", lambda path: (steps.append("folder" if path.is_dir() else "file"), flush(path)))
    monkeypatch.setattr(os, "replace", lambda *paths: (steps.append("rename"), replace(*paths)))
    write_whole(tmp_path / "x", [b"a", b"b"])
    assert steps == ["file", "rename", "folder"]
    assert (tmp_path / "x").read_bytes() == b"ab"


def test_an_error_leaves_what_was_there(tmp_path: Path) -> None:
    write_whole(tmp_path / "x", [b"before"])

    def half() -> None:
        with replacing(tmp_path / "x") as beside:
            beside.write_bytes(b"half")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        half()
    assert [path.name for path in tmp_path.iterdir()] == ["x"]
    assert (tmp_path / "x").read_bytes() == b"before"


@pytest.mark.parametrize("name", ["", "a\0b"])
def test_names_that_are_none_are_refused(tmp_path: Path, name: str) -> None:
    with pytest.raises(StorageError, match="no name for a file"):
        write_whole(f"{tmp_path}/{name}" if name else "", [b"x"])


def test_a_folder_that_cannot_be_made_is_our_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for path in (tmp_path / "file" / "under", tmp_path / "a\0b"):
        with pytest.raises(StorageError, match="cannot be made a folder"):
            make_folder(path)


def test_only_old_leftovers_are_swept(tmp_path: Path) -> None:
    for name in (".x.csv.0123456789abcdef.part", ".tmpAbCd", "mine.part", ".hidden"):
        (tmp_path / name).write_text("")
        os.utime(tmp_path / name, (1, 1))
    (tmp_path / ".new.part").write_text("")
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"mine.part", ".hidden", ".new.part"}
