from __future__ import annotations

from pathlib import Path

import pytest

from eyeline.errors import StorageError
from eyeline.storage.files import is_locked, locked


def test_a_lock_is_held_within_its_block_and_refused_to_a_second_writer(tmp_path: Path) -> None:
    path = tmp_path / ".x.lock"
    assert not is_locked(path)
    with locked(tmp_path, ".x.lock", wait=0, busy="busy.", advice="Wait."):
        assert is_locked(path)
        with pytest.raises(StorageError, match="busy"), locked(tmp_path, ".x.lock", wait=0, busy="busy.", advice="Wait."):
            pass
    assert not is_locked(path)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StorageError, match="cannot be written"), locked(tmp_path / "file", "x", wait=0, busy="busy.", advice="Wait."):
        pass
