"""The checksum of a file is remembered, and never that of another content."""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

import platformdirs
import pytest

from eyeline.errors import StorageError
from eyeline.storage import checksums
from eyeline.storage.checksums import checksum_of


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "cache" / name)
    monkeypatch.setattr(checksums, "UNCHANGED_SECONDS", -1.0)
    path = tmp_path / "model.safetensors"
    path.write_bytes(b"weights")
    return path


def reads(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    paths: list[Path] = []
    original = checksums.digest_of
    monkeypatch.setattr(checksums, "digest_of", lambda path: (paths.append(path), original(path))[1])
    return paths


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def test_a_file_is_read_once(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    paths = reads(monkeypatch)
    assert checksum_of(file) == checksum_of(file) == sha256(b"weights")
    assert paths == [file]


@pytest.mark.parametrize("how", ["in place", "replaced", "through a link", "through a map"])
def test_a_change_of_the_same_size_and_time_is_seen(file: Path, how: str, tmp_path: Path) -> None:
    checksum_of(file)
    facts = file.stat()
    if how == "replaced":
        (tmp_path / "other").write_bytes(b"WEIGHTS")
        (tmp_path / "other").replace(file)
    elif how == "through a link":
        (tmp_path / "link").hardlink_to(file)
        (tmp_path / "link").write_bytes(b"WEIGHTS")
    elif how == "through a map":
        import mmap

        with file.open("r+b") as opened, mmap.mmap(opened.fileno(), 0) as memory:
            memory[:] = b"WEIGHTS"
            memory.flush()
    else:
        file.write_bytes(b"WEIGHTS")
    os.utime(file, ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert file.stat().st_mtime_ns == facts.st_mtime_ns
    assert checksum_of(file) == sha256(b"WEIGHTS")


def test_a_file_that_was_changed_just_now_is_not_remembered(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Within a tick of the clock it may change once more, and all its facts would stay."""
    monkeypatch.setattr(checksums, "UNCHANGED_SECONDS", 60.0)
    paths = reads(monkeypatch)
    checksum_of(file)
    checksum_of(file)
    assert len(paths) == 2


def test_a_damaged_record_is_not_believed(file: Path, tmp_path: Path) -> None:
    checksum_of(file)
    (record,) = (tmp_path / "cache").rglob("*.json")
    record.write_text(record.read_text().replace(sha256(b"weights"), sha256(b"other")))
    assert checksum_of(file) == sha256(b"weights")
    record.write_text("[")
    assert checksum_of(file) == sha256(b"weights")


def test_a_file_that_changes_while_it_is_read_is_refused(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    original = checksums.digest_of
    monkeypatch.setattr(checksums, "digest_of", lambda path: (original(path), path.write_bytes(b"changed"))[0])
    with pytest.raises(StorageError, match="changed while it was read"):
        checksum_of(file)


def test_a_missing_file_and_a_folder_are_refused(file: Path, tmp_path: Path) -> None:
    for path in (tmp_path / "nothing", tmp_path):
        with pytest.raises(StorageError):
            checksum_of(path)
