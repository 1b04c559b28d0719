"""The cache of traces: hits, room, damage, other processes, sudden death."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import time

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.capture.trace import Trace
from eyeline.errors import StorageError
from eyeline.models.passes import Passes
from tests.capture.families import BY_NAME, tiny_tokenizer

TEXT = "the cat sat on the mat"
BERT = BY_NAME["bert"]


@pytest.fixture
def cached(tmp_path):
    return el.wrap(BERT.model(), tiny_tokenizer(), name="bert", cache=el.traces.TraceCache(tmp_path / "cache"))


def entries(model: el.Model):
    return sorted(model.cache.folder.glob("??/*.safetensors"))


def forward_passes(model: el.Model, monkeypatch) -> list[int]:
    calls: list[int] = []
    original = Passes.layers
    monkeypatch.setattr(Passes, "layers", lambda *a: (calls.append(1), original(*a))[1])
    return calls


def test_the_second_time_nothing_is_computed(cached, monkeypatch):
    first = cached.trace(TEXT)
    calls = forward_passes(cached, monkeypatch)
    second = cached.trace(TEXT)
    assert not calls
    assert np.array_equal(first.weights, second.weights)
    assert first.text == second.text
    assert len(entries(cached)) == 1


def test_text_options_weights_and_tokeniser_each_make_another_entry(cached):
    cached.trace(TEXT)
    cached.trace(TEXT + " .")
    cached.trace(TEXT, "it purred")
    cached.trace(words=TEXT.split())
    cached.trace(TEXT, layers=[0])
    cached.trace(TEXT, keep={"weights"})
    assert len(entries(cached)) == 6
    with torch.no_grad():
        next(cached.hf.parameters()).add_(0.5)
    changed = cached.trace(TEXT)
    assert len(entries(cached)) == 7
    assert np.array_equal(changed.weights, el.wrap(cached.hf, tiny_tokenizer()).trace(TEXT).weights)
    tokenizer = tiny_tokenizer()
    tokenizer.add_tokens(["catsat"])
    el.wrap(cached.hf, tokenizer, cache=cached.cache).trace(TEXT)
    assert len(entries(cached)) == 8


def test_a_damaged_entry_is_dropped_with_a_notice_and_made_again(cached, caplog):
    first = cached.trace(TEXT)
    (entry,) = entries(cached)
    data = bytearray(entry.read_bytes())
    data[-10] ^= 0xFF
    entry.write_bytes(data)
    with caplog.at_level(logging.WARNING, "eyeline"):
        again = cached.trace(TEXT)
    assert "dropped" in caplog.text
    assert np.array_equal(first.weights, again.weights)
    assert np.array_equal(el.traces.open_trace(entry).weights, first.weights)


def test_the_least_recently_used_goes_first(cached):
    texts = ["the cat", "the dog", "a mat"]
    for text in texts:
        cached.trace(text)
    size = cached.cache.size()
    first = size // 3
    for entry, text in zip(sorted(entries(cached), key=os.path.getmtime), texts, strict=True):
        os.utime(entry, (1_000_000 + texts.index(text),) * 2)
    cached.trace("the cat")  # now the most recently used
    cached.cache.max_bytes = size + first // 2
    cached.trace("it purred")
    left = {el.traces.open_trace(entry).text.sources[0] for entry in entries(cached)}
    assert left == {"the cat", "a mat", "it purred"}
    assert cached.cache.size() <= cached.cache.max_bytes


def test_a_disk_that_is_full_costs_the_cache_and_not_the_trace(cached, monkeypatch, caplog):
    def full(*_):
        raise StorageError("x: cannot be written (No space left on device).")

    monkeypatch.setattr(Trace, "save", full)
    assert cached.trace(TEXT).weights.shape[0] == 3
    assert "not cached" in caplog.text


WRITER = """
import sys, numpy as np, eyeline as el
cache = el.traces.TraceCache(sys.argv[1], max_bytes=int(sys.argv[2]))
rng = np.random.default_rng(int(sys.argv[3]))
print("ready", flush=True)
for i in range(int(sys.argv[4])):
    number = int(rng.integers(12))
    key = f"{number:02d}" + "a" * 62
    trace = cache.get(key)
    if trace is not None:
        assert (trace.weights == number / 12).all(), "another entry's numbers, or half of them"
    w = np.full((6, 4, 64, 64), number / 12, dtype=np.float32)
    cache.put(key, el.Trace(f"m{number}", {"encoder": el.traces.Stack("encoder", TEXT, TEXT, tuple(range(6)), weights_by_layer=tuple(w))}))
print("done", flush=True)
"""
WRITER = WRITER.replace('print("ready"', 'TEXT = el.traces.TokenizedText.from_tokens([str(i) for i in range(64)])\nprint("ready"')


def writer(folder, max_bytes: int, seed: int, rounds: int) -> subprocess.Popen:
    arguments = [sys.executable, "-c", WRITER, str(folder), str(max_bytes), str(seed), str(rounds)]
    return subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


@pytest.mark.slow
def test_processes_that_share_a_small_cache_never_read_a_wrong_entry(tmp_path):
    processes = [writer(tmp_path, 2_500_000, seed, 40) for seed in range(3)]
    for process in processes:
        output, errors = process.communicate(timeout=120)
        assert process.returncode == 0, errors
        assert "done" in output
    assert el.traces.TraceCache(tmp_path).size() <= 2_500_000


@pytest.mark.slow
def test_a_process_killed_while_writing_leaves_nothing_that_is_read(tmp_path):
    cache = el.traces.TraceCache(tmp_path)
    for seed in range(6):
        process = writer(tmp_path, 10**9, seed, 10_000)
        assert process.stdout.readline().strip() == "ready"
        time.sleep(0.05 + 0.03 * seed)
        process.send_signal(signal.SIGKILL)
        process.communicate(timeout=60)
        for entry in tmp_path.glob("??/*.safetensors"):
            number = int(entry.name[:2])
            assert (el.traces.open_trace(entry).weights == np.float32(number / 12)).all()
    leftover = tmp_path / "00" / ".tmpAbCdEf"  # as safetensors calls it
    leftover.parent.mkdir(exist_ok=True)
    leftover.write_bytes(b"half")
    os.utime(leftover, (1, 1))
    cache.put("ff" + "a" * 62, el.Trace.from_arrays(np.ones((1, 1, 1, 1), dtype=np.float32), ["x"]))
    assert not leftover.exists(), "what a killed process left is swept away when it is old"


def test_clear_removes_every_entry(cached):
    cached.traces(["the cat", "the dog"])
    assert cached.cache.clear() == 2
    assert not entries(cached)


def test_another_limit_or_name_is_not_answered_from_the_cache(cached):
    cached.trace(TEXT)
    tokenizer = tiny_tokenizer()
    tokenizer.model_max_length = 6
    shorter = el.wrap(BERT.model(), tokenizer, name="shorter", cache=cached.cache)
    assert len(shorter.trace(TEXT, truncate=True).text) == 6
    again = el.wrap(BERT.model(), tiny_tokenizer(), name="again", cache=cached.cache).trace(TEXT)
    assert (again.model, again.about["model"]) == ("again", "again")


def test_weights_changed_behind_the_version_counter_are_noticed(cached):
    before = cached.trace(TEXT)
    for parameter in cached.hf.parameters():
        parameter.data.mul_(1.5)
    assert not np.array_equal(before.weights, cached.trace(TEXT).weights)


def test_a_model_made_in_inference_mode_can_be_cached(tmp_path):
    with torch.inference_mode():
        hf = BERT.model()
    model = el.wrap(hf, tiny_tokenizer(), cache=tmp_path)
    assert np.array_equal(model.trace(TEXT).weights, model.trace(TEXT).weights)
