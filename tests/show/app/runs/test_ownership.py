"""Whose run it is, whatever stands in app.json; and what a visitor keeps, while others delete."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as some

from eyeline.errors import StorageError
from eyeline.measure.runs.run import FACTS_FILE
from eyeline.show.app.kit import workspace
from eyeline.show.app.kit.settings import Limits
from eyeline.show.app.kit.workspace import FILE, Ownership, Workspace, read_ownership, remove_expired, rename, share_of, write_ownership
from eyeline.show.app.runs import _labels
from eyeline.words import Words

JSON = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(some.characters(), max_size=90),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.sampled_from(["owner", "title", "x"]), inner, max_size=3),
    max_leaves=6,
)


@settings(max_examples=200, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=some.one_of(some.binary(max_size=80), JSON.map(lambda value: json.dumps(value).encode())))
def test_any_app_json_has_an_owner_and_a_title_that_a_page_can_show(tmp_path, data):
    (tmp_path / FILE).write_bytes(data)
    read = read_ownership(tmp_path)
    assert read is not None
    read.title.encode()  # no half of a surrogate pair: no page could be sent
    assert "\n" not in read.title
    assert len(read.title) <= workspace.LONGEST_TITLE


@pytest.mark.parametrize("data", [b"[" * 100_000, b'{"owner": ' + b"9" * 5000 + b"}", b'{"title": "\\ud800\\u0000"}', b"\xff\xfe{"])
def test_an_app_json_that_was_written_to_hurt_belongs_to_nobody(tmp_path, data):
    (tmp_path / FILE).write_bytes(data)
    assert read_ownership(tmp_path).owner == ""
    read_ownership(tmp_path).title.encode()


def run_of(workspace: Path, name: str, owner: str) -> Path:
    folder = workspace / "runs" / name
    folder.mkdir(parents=True)
    (folder / FACTS_FILE).write_text("{}")
    write_ownership(folder, Ownership(owner))
    return folder


def test_a_share_counts_runs_and_bytes_and_a_run_that_is_being_deleted_harms_nobody(tmp_path, monkeypatch):
    own, others = run_of(tmp_path, "a", "me"), run_of(tmp_path, "b", "another")
    (own / "large").write_bytes(bytes(1000))
    (others / "large").write_bytes(bytes(5000))
    share = share_of(Workspace(tmp_path), "me")
    assert share.runs == 1
    assert 1000 < share.bytes < 2000
    assert share.excess(Limits(runs_each=1)) == ("too_many_runs", {"n": 1, "most": 1})
    assert share.excess(Limits(bytes_each=1000))[0] == "too_many_bytes"
    assert share.excess(Limits()) is None
    is_file = Path.is_file

    def deleted_after_the_look(path: Path) -> bool:
        there = is_file(path)
        if path.name in ("large", FACTS_FILE):
            path.unlink(missing_ok=True)
        return there

    monkeypatch.setattr(Path, "is_file", deleted_after_the_look)
    assert share_of(Workspace(tmp_path), "me").runs == 1


def test_runs_of_visitors_expire_and_those_of_the_command_line_stay(tmp_path):
    old, new, shared = (run_of(tmp_path, name, "me") for name in "abc")
    long_ago = time.time() - 31 * 24 * 3600
    os.utime(old / FILE, (long_ago, long_ago))
    os.utime(shared / FACTS_FILE, (long_ago, long_ago))
    (shared / FILE).unlink()
    remove_expired(Workspace(tmp_path), Limits(keep_days=30))
    assert sorted(path.name for path in (tmp_path / "runs").iterdir()) == [new.name, shared.name]


def test_a_rename_on_a_full_disk_is_our_error_and_the_old_title_stays(tmp_path, monkeypatch):
    folder = run_of(tmp_path, "a", "me")
    rename(folder, "me", "before")

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("eyeline.storage.files.flush", full)
    with pytest.raises(StorageError, match="No space left"):
        rename(folder, "me", "after")
    assert read_ownership(folder) == Ownership("me", "before")
    assert sorted(path.name for path in folder.iterdir()) == [FILE, FACTS_FILE]


def test_no_two_runs_have_the_same_label_in_the_list(tmp_path):
    listed = {name: tmp_path / name / "same" for name in ("2026-01-01-aa", "2026-01-01-bb")}
    assert sorted(_labels(Words(), listed).values()) == ["same · 2026-01-01-aa", "same · 2026-01-01-bb"]
