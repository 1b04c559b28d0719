"""Traces on disk: round trips, damage, other versions, full disks."""

from __future__ import annotations

import errno
import json
import subprocess
import sys
import zlib

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from safetensors.numpy import load_file, save_file

import eyeline as el
from eyeline.errors import StorageError
from eyeline.look import trace as storage
from eyeline.storage import sealed
from tests.models.families import FAMILIES, tiny_tokenizer


def same(first: el.Trace, second: el.Trace) -> bool:
    if (first.model, dict(first.about), list(first.stacks)) != (second.model, dict(second.about), list(second.stacks)):
        return False
    for name, stack in first.stacks.items():
        twin = second.stacks[name]
        for field in ("query_text", "key_text", "layers", "scales", "plain", "level", "why_missing"):
            if getattr(stack, field) != getattr(twin, field):
                return False
        for what in storage.ARRAYS:
            for a, b in zip(getattr(stack, f"{what}_by_layer"), getattr(twin, f"{what}_by_layer"), strict=True):
                if (a is None) != (b is None) or (a is not None and not np.array_equal(a, b)):
                    return False
    return True


@pytest.mark.parametrize("family", [f for f in FAMILIES if f.name in ("bert", "llama", "gemma3", "t5", "marian", "deberta-v2")], ids=str)
def test_what_was_saved_comes_back(family, tmp_path):
    trace = el.wrap(family.model(), tiny_tokenizer()).trace("the cat sat", "it purred")
    for version in (trace, trace.words()):
        version.save(tmp_path / "x.safetensors")
        assert same(version, el.traces.open_trace(tmp_path / "x.safetensors"))


@settings(max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(tokens=st.lists(st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=5), min_size=1, max_size=6))
def test_any_tokens_survive_a_round_trip(tokens, tmp_path):
    n = len(tokens)
    trace = el.Trace.from_arrays(np.full((2, 3, n, n), 1 / n, dtype=np.float32), tokens)
    trace.save(tmp_path / "x.safetensors")
    assert same(trace, el.traces.open_trace(tmp_path / "x.safetensors"))


def test_reading_needs_no_torch(cat, tmp_path):
    cat.save(tmp_path / "cat.safetensors")
    code = "import sys, eyeline as el; t = el.open(sys.argv[1]); print(t.words().weights.shape, 'torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code, tmp_path / "cat.safetensors"], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "(6, 12, 13, 13) False"


def test_every_truncation_is_refused(cat, tmp_path):
    cat.save(tmp_path / "cat.safetensors")
    whole = (tmp_path / "cat.safetensors").read_bytes()
    damaged = tmp_path / "cut.safetensors"
    for keep in (0, 1, 7, 8, 9, 100, len(whole) // 2, len(whole) - 1):
        damaged.write_bytes(whole[:keep])
        with pytest.raises(StorageError, match=r"cut\.safetensors"):
            el.traces.open_trace(damaged)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(data=st.data())
def test_a_changed_byte_is_refused_by_name_or_changes_nothing(data, cat, tmp_path):
    path = tmp_path / "cat.safetensors"
    if not path.exists():
        cat.save(path)
        (tmp_path / "whole").write_bytes(path.read_bytes())
    whole = bytearray((tmp_path / "whole").read_bytes())
    index = data.draw(st.integers(0, len(whole) - 1))
    whole[index] ^= data.draw(st.integers(1, 255))
    damaged = tmp_path / "damaged.safetensors"
    damaged.write_bytes(whole)
    try:
        opened = el.traces.open_trace(damaged)
    except StorageError as error:
        assert "damaged.safetensors" in str(error)
        return
    assert same(opened, cat), "a damaged file was read as if it were whole"


def test_another_version_is_named(cat, tmp_path):
    path = tmp_path / "old.safetensors"
    cat.save(path)
    header = json.dumps({"format": 99, "kind": "trace"})
    save_file(load_file(path), path, metadata={"eyeline": header, "eyeline-crc32": str(zlib.crc32(header.encode()))})
    with pytest.raises(StorageError, match="format 99; needed: a trace in format 3"):
        el.traces.open_trace(path)


def test_foreign_files_are_told_apart(tmp_path):
    path = tmp_path / "weights.safetensors"
    save_file({"x": np.zeros(2)}, path)
    with pytest.raises(StorageError, match="not a trace of eyeline"):
        el.traces.open_trace(path)
    (tmp_path / "pickle.safetensors").write_bytes(b"\x80\x04\x95\x0b")
    with pytest.raises(StorageError, match="cannot be read as safetensors"):
        el.traces.open_trace(tmp_path / "pickle.safetensors")
    with pytest.raises(StorageError, match="no such file"):
        el.traces.open_trace(tmp_path / "nothing.safetensors")


def test_a_full_disk_leaves_nothing_behind_and_keeps_the_old_file(cat, tmp_path, monkeypatch):
    path = tmp_path / "cat.safetensors"
    path.write_text("the old file")

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(sealed, "save_file", full)
    with pytest.raises(StorageError, match="No space left on device"):
        cat.save(path)
    assert path.read_text() == "the old file"
    assert list(tmp_path.iterdir()) == [path]


def test_a_disk_that_really_takes_no_more(cat, tmp_path):
    cat.save(tmp_path / "cat.safetensors")
    code = """
import resource, signal, sys
import eyeline as el
trace = el.open(sys.argv[1])
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
trace.save(sys.argv[2])
"""
    arguments = [sys.executable, "-c", code, tmp_path / "cat.safetensors", tmp_path / "new.safetensors"]
    done = subprocess.run(arguments, capture_output=True, text=True, check=False)
    assert "UnwritableError: " in done.stderr  # a StorageError
    assert [file.name for file in tmp_path.iterdir()] == ["cat.safetensors"]


def test_whoever_may_read_new_files_may_read_a_trace(cat, tmp_path):
    cat.save(tmp_path / "cat.safetensors")
    (tmp_path / "other").touch()
    assert (tmp_path / "cat.safetensors").stat().st_mode == (tmp_path / "other").stat().st_mode


def test_a_missing_folder_is_named(cat, tmp_path):
    with pytest.raises(StorageError, match="cannot be written"):
        cat.save(tmp_path / "no" / "such" / "folder.safetensors")


def test_damage_anywhere_in_the_header_is_refused_or_changes_nothing(tmp_path):
    trace = el.Trace.from_arrays(np.ones((1, 1, 1, 1), dtype=np.float32), ["cat"])
    trace.save(tmp_path / "x.safetensors")
    whole = (tmp_path / "x.safetensors").read_bytes()
    for position in range(len(whole)):
        damaged = bytearray(whole)
        damaged[position] ^= 1
        (tmp_path / "y.safetensors").write_bytes(damaged)
        try:
            opened = el.traces.open_trace(tmp_path / "y.safetensors")
        except StorageError:
            continue
        assert same(opened, trace), f"byte {position}"


def test_a_trace_goes_to_a_file_with_a_name(cat):
    with pytest.raises(StorageError, match="no name for a file"):
        cat.save("")
