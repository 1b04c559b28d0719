"""A GGUF file is unpacked once, checked by hash, and made again when the unpacked folder is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from eyeline.models.unpacking.unpack import CONTENTS, is_whole, unpack_once, unpacked_folder
from eyeline.storage.old_name import OLD_NAME


@pytest.fixture
def gguf(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "cache" / name)
    path = tmp_path / "small.gguf"
    path.write_bytes(b"GGUF")
    return path


def fill(folder: Path) -> None:
    (folder / "templates").mkdir(parents=True)
    (folder / "model.safetensors").write_bytes(bytes(range(256)))
    (folder / "config.json").write_text("{}")
    (folder / "templates" / "chat.txt").write_text("hello")


def test_the_second_time_nothing_is_unpacked(gguf: Path) -> None:
    folder = unpack_once(gguf, fill)
    assert folder == unpacked_folder(gguf)
    assert is_whole(folder)
    assert unpack_once(gguf, lambda _: pytest.fail("unpacked again")) == folder


@pytest.mark.parametrize("damage", ["flip", "truncate", "missing", "added", "no list"])
def test_a_damaged_folder_is_made_again(gguf: Path, damage: str) -> None:
    folder = unpack_once(gguf, fill)
    assert folder is not None
    file = folder / "model.safetensors"
    if damage == "flip":
        file.write_bytes(b"\x01" + file.read_bytes()[1:])
    elif damage == "truncate":
        file.write_bytes(file.read_bytes()[:100])
    elif damage == "missing":
        (folder / "config.json").unlink()
    elif damage == "added":
        (folder / "other.py").write_text("")
    else:
        (folder / CONTENTS).unlink()
    assert not is_whole(folder)
    assert unpack_once(gguf, fill) == folder
    assert is_whole(folder)
    assert file.read_bytes() == bytes(range(256))


def test_what_a_killed_process_left_is_removed_though_the_model_is_there(gguf: Path) -> None:
    folder = unpack_once(gguf, fill)
    assert folder is not None
    old, new = folder.parent / ".0123.part", folder.parent / ".4567.part"
    for path in (old, new):
        path.mkdir()
        (path / "model.safetensors").write_bytes(b"half")
    os.utime(old, (1, 1))
    unpack_once(gguf, fill)
    assert not old.exists()
    assert new.exists(), "another process may be writing it"


def test_a_full_disk_leaves_nothing(gguf: Path) -> None:
    def full(folder: Path) -> None:
        folder.mkdir(parents=True)
        raise OSError(28, "No space left on device")

    assert unpack_once(gguf, full) is None
    assert not [path for path in unpacked_folder(gguf).parent.iterdir() if path.is_dir()]


def test_what_the_version_of_the_old_name_unpacked_is_left_alone(gguf: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """That version may still be installed, and may have it open."""
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "caches" / name)
    folders = [tmp_path / "caches" / name / "unpacked" / unpacked_folder(gguf).name for name in ("eyeline", OLD_NAME)]
    fill(folders[1])
    assert unpack_once(gguf, fill) == folders[0]
    assert (folders[1] / "config.json").is_file()
