"""A GGUF file is unpacked once, checked by hash, and made again when the unpacked folder is damaged."""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs
import pytest

from eyeline.look.trace_cache import unpacked_folder
from eyeline.models.unpack import CONTENTS, is_whole, unpack_once
from eyeline.storage.files import new_part


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
    assert is_whole(folder, gguf)
    assert unpack_once(gguf, lambda _: pytest.fail("unpacked again")) == folder


def test_another_file_of_the_same_path_size_and_time_is_unpacked_anew(gguf: Path) -> None:
    folder = unpack_once(gguf, fill)
    facts = gguf.stat()
    gguf.write_bytes(b"GGUG")
    os.utime(gguf, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert unpacked_folder(gguf) == folder
    unpacked = []
    assert unpack_once(gguf, lambda part: (unpacked.append(1), fill(part))) == folder
    assert unpacked


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
    assert not is_whole(folder, gguf)
    assert unpack_once(gguf, fill) == folder
    assert is_whole(folder, gguf)
    assert file.read_bytes() == bytes(range(256))


def test_what_a_killed_process_left_is_removed_though_the_model_is_there(gguf: Path) -> None:
    folder = unpack_once(gguf, fill)
    assert folder is not None
    old, new = new_part(folder.parent), new_part(folder.parent)
    for path in (old, new):
        path.mkdir()
        (path / "model.safetensors").write_bytes(b"half")
    for path in (old / "model.safetensors", old):
        os.utime(path, (1, 1))
    unpack_once(gguf, fill)
    assert not old.exists()
    assert new.exists(), "another process may be writing it"


def test_a_full_disk_leaves_nothing(gguf: Path) -> None:
    def full(folder: Path) -> None:
        folder.mkdir(parents=True)
        raise OSError(28, "No space left on device")

    assert unpack_once(gguf, full) is None
    assert not [path for path in unpacked_folder(gguf).parent.iterdir() if path.is_dir()]
