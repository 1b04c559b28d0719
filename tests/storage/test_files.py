"""Files are written whole, flushed before and after they are renamed, and what killed processes left is swept."""

from __future__ import annotations

import errno
import os
from pathlib import Path

import pytest

from eyeline.errors import StorageError
from eyeline.measure.runs.run import writing_run
from eyeline.storage import files
from eyeline.storage.files import make_folder, replacing, sweep, write_whole
from tests.measure.runs.test_run_parts import made_up


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


OURS = ".eyeline-0123456789abcdef.part"


def test_only_old_leftovers_with_our_own_mark_are_swept(tmp_path: Path) -> None:
    """Folders of anybody's that looked half-written were once removed, with what was in them."""
    theirs = [".x.csv.0123456789abcdef.part", ".tmpAbCd", ".tmp", "mine.part", ".hidden", ".eyeline-notes.part", ".eyeline-ready"]
    for name in [OURS, *theirs]:
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("x")
        for path in (tmp_path / name / "thesis.txt", tmp_path / name):
            os.utime(path, (1, 1))
    new = tmp_path / OURS.replace("0", "f")
    new.mkdir()
    (tmp_path / OURS.replace("0", "e")).symlink_to(tmp_path / ".hidden")
    sweep(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {*theirs, new.name, OURS.replace("0", "e")}
    assert (tmp_path / ".hidden" / "thesis.txt").exists()


def test_what_a_process_still_writes_is_not_swept(tmp_path: Path) -> None:
    (tmp_path / OURS).mkdir()
    (tmp_path / OURS / "model.safetensors").write_bytes(b"half")
    os.utime(tmp_path / OURS, (1, 1))
    sweep(tmp_path)
    assert (tmp_path / OURS / "model.safetensors").exists()


def test_saving_touches_nothing_that_looks_half_written(tmp_path: Path) -> None:
    for name in (".tmp_mine", ".notes.part", ".ready"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "thesis.txt").write_text("x")
        os.utime(tmp_path / name, (1, 1))
    made_up("probe", {"p": 1}).save(tmp_path)
    assert all((tmp_path / name / "thesis.txt").exists() for name in (".tmp_mine", ".notes.part", ".ready"))


def test_a_save_that_fails_names_the_folder_that_was_given_and_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(StorageError) as caught:
            made_up("probe", {"p": 1}).save(folder)
        assert str(caught.value).splitlines()[0] == f"{folder}: cannot be written (No space left on device)."
    assert not list(tmp_path.iterdir())


def test_a_run_that_cannot_begin_in_a_new_folder_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: Path) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(files, "flush", full)
    for folder in (tmp_path / "new", tmp_path):
        with pytest.raises(StorageError, match="No space left on device"), writing_run(folder, "probe"):
            pytest.fail("it began")
    assert not list(tmp_path.iterdir())
