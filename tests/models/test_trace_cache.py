"""The cache of traces: for which models it answers, hits, room, damage, other processes, sudden death."""

from __future__ import annotations

import copy
import logging
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import torch
import transformers

import eyeline as el
from eyeline.errors import EyelineError, StorageError
from eyeline.look import trace_cache
from eyeline.models.passes import Passes
from eyeline.storage.files import new_part
from tests.models.changed import AROUND, HANDED_OUT, TEXT, normaliser, today
from tests.models.families import BY_NAME, tiny_tokenizer

BERT = BY_NAME["bert"]


def saved(folder: Path, hf: transformers.PreTrainedModel) -> Path:
    hf.save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    return saved(tmp_path / "bert", BERT.model())


@pytest.fixture
def cached(tmp_path, folder):
    return el.load(folder, cache=tmp_path / "cache")


def entries(model: el.Model):
    return sorted(model.cache.folder.glob("??/*.safetensors"))


def forward_passes(monkeypatch) -> list[int]:
    calls: list[int] = []
    original = Passes.layers
    monkeypatch.setattr(Passes, "layers", lambda *a, **k: (calls.append(1), original(*a, **k))[1])
    return calls


# ---- When it answers


def test_the_second_time_nothing_is_computed(cached, monkeypatch):
    first = cached.trace(TEXT)
    calls = forward_passes(monkeypatch)
    second = cached.trace(TEXT)
    assert not calls
    assert np.array_equal(first.weights, second.weights)
    assert (first.text, first.about) == (second.text, second.about)
    assert len(entries(cached)) == 1


def test_a_text_seen_before_is_answered_before_the_weights_are_read(cached, folder, monkeypatch):
    first = cached.trace(TEXT)
    monkeypatch.setattr("eyeline.models.load._opened", lambda *a, **k: pytest.fail("the model was opened"))
    again = el.load(folder, cache=cached.cache)
    assert np.array_equal(again.trace(TEXT).weights, first.weights)
    assert again.name == "bert"


def test_what_is_not_on_disk_opens_the_model_once(cached, folder):
    cached.trace(TEXT)
    again = el.load(folder, cache=cached.cache)
    assert again.trace(TEXT).weights.shape == (3, 4, 8, 8)
    assert again.gives.recorded
    assert again.predict is not None
    assert again.max_tokens == cached.max_tokens
    assert again.weights() == again.trace(TEXT).about["weights"]
    with pytest.raises(AttributeError, match="no attribute 'trance'"):
        _ = again.trance


def test_every_option_and_text_makes_another_entry(cached):
    cached.trace(TEXT)
    cached.trace(TEXT + " .")
    cached.trace(TEXT, "it purred")
    cached.trace(words=TEXT.split())
    cached.trace(TEXT, layers=[0])
    cached.trace(TEXT, layers=(number for number in (0, 2)))
    cached.trace(TEXT, keep={"weights"})
    cached.trace(TEXT, truncate=True)
    assert len(entries(cached)) == 8
    assert cached.trace(TEXT, layers=[2, 0]).layers == (0, 2)
    assert len(entries(cached)) == 8


@pytest.mark.parametrize("wrong", [{"layers": [9]}, {"layers": 3}, {"keep": {"shapes"}}, {"keep": 5}], ids=str)
def test_wrong_options_are_refused_as_without_a_cache(cached, wrong):
    with pytest.raises(EyelineError):
        cached.trace(TEXT, **wrong)


def test_precision_device_and_versions_make_another_entry(cached, folder, monkeypatch):
    cached.trace(TEXT)
    half = el.load(folder, dtype=torch.bfloat16, cache=cached.cache).trace(TEXT)
    assert half.about["dtype"] == "bfloat16"
    el.load(folder, device="cpu", cache=cached.cache).trace(TEXT)
    assert len(entries(cached)) == 3
    for name, value in (("_versions", lambda: {"torch": "1"}), ("CONTENT", 99), ("_machine", lambda: ["another"])):
        with monkeypatch.context() as patch:
            patch.setattr(trace_cache, name, value)
            el.load(folder, cache=cached.cache).trace(TEXT)
    assert len(entries(cached)) == 6


def test_the_same_files_elsewhere_are_answered_under_their_own_name(cached, folder, tmp_path):
    cached.trace(TEXT)
    folder.rename(tmp_path / "moved")
    again = el.load(tmp_path / "moved", cache=cached.cache).trace(TEXT)
    assert (again.model, again.about["model"], len(entries(cached))) == ("moved", "moved", 1)


@pytest.mark.parametrize("file", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_changed_file_is_noticed_by_an_open_model_and_by_the_next_one(cached, folder, file, caplog):
    before = cached.trace(TEXT)
    facts = (folder / file).stat()
    if file == "model.safetensors":
        other = BERT.model()
        other.encoder.layer[0].attention.self.query.weight.data.mul_(3)
        other.save_pretrained(folder)
    else:
        text = (folder / file).read_text(encoding="utf-8")
        (folder / file).write_text(text + " ", encoding="utf-8")
    os.utime(folder / file, ns=(facts.st_atime_ns, facts.st_mtime_ns))  # as a copy that keeps the times
    cached.trace(TEXT)
    assert "its files have changed" in caplog.text
    after = el.load(folder, cache=cached.cache).trace(TEXT)
    assert np.array_equal(after.weights, before.weights) is (file != "model.safetensors")
    assert len(entries(cached)) == 2


def test_a_file_that_is_added_before_the_model_is_opened_is_noticed(cached, folder, caplog):
    (folder / "added.txt").write_text("anything may be read from it")
    cached.trace(TEXT)
    assert "its files have changed" in caplog.text
    assert not entries(cached)


@pytest.mark.parametrize("what", ["adapter", "index"])
def test_a_folder_that_leads_to_weights_elsewhere_is_not_kept(folder, tmp_path, what):
    if what == "adapter":
        (folder / "adapter_config.json").write_text('{"base_model_name_or_path": "/elsewhere"}')
    else:
        (folder / "model.safetensors.index.json").write_text('{"weight_map": {"a": "inner/model-1.safetensors"}}')
    assert trace_cache.files_of(str(folder)) is None


def test_a_tokeniser_of_an_untrained_copy_is_not_that_of_the_model(cached):
    cached.trace(TEXT)
    normaliser(el.models.reinitialised(cached))
    assert cached.trace(TEXT + " .").text.tokens[1:7] == cached.trace(TEXT).text.tokens[1:7]


@pytest.mark.parametrize("name", ["x" * 5000, "a\0b", "", "no/such model"], ids=["long", "null", "empty", "missing"])
def test_a_name_that_no_model_has_is_refused_as_without_a_cache(name, tmp_path):
    assert trace_cache.files_of(name) is None or not name
    with pytest.raises(EyelineError):
        el.load(name, cache=tmp_path)


# ---- When it cannot know, it does not answer


@pytest.mark.parametrize("change", HANDED_OUT, ids=lambda change: change.__name__)
def test_a_changed_model_gives_the_trace_of_today_and_never_the_old_one(cached, change, caplog):
    before = cached.trace(TEXT)
    change(cached)
    now = cached.trace(TEXT)
    assert np.array_equal(now.weights, today(cached))
    assert now.weights.shape != before.weights.shape or np.abs(now.weights - before.weights).max() > 1e-3 or now.text != before.text
    assert caplog.text.count("no longer kept on disk") == 1
    assert len(entries(cached)) == 1


def test_a_sliding_window_of_the_configuration_gives_the_trace_of_today(tmp_path):
    torch.manual_seed(0)
    sizes = {"vocab_size": 64, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4, "intermediate_size": 32}
    config = transformers.MistralConfig(**sizes, num_key_value_heads=2, max_position_embeddings=64, sliding_window=None)
    model = el.load(saved(tmp_path / "mistral", transformers.MistralModel(config)), cache=tmp_path / "cache")
    before = model.trace(TEXT)
    model.hf.config.sliding_window = 2
    now = model.trace(TEXT)
    assert np.array_equal(now.weights, today(model))
    assert np.abs(now.weights - before.weights).max() > 0.1


@pytest.mark.parametrize(("around", "name"), AROUND, ids=[name for _, name in AROUND])
def test_what_is_around_a_pass_is_said_and_neither_read_from_the_disk_nor_kept_there(tmp_path, folder, around, name, monkeypatch):
    for first in ("plain", "changed"):
        model = el.load(folder, cache=tmp_path / first)
        expected = el.load(folder).trace(TEXT)
        if first == "plain":
            model.trace(TEXT)
        with monkeypatch.context() as patch, around(patch):
            changed = model.trace(TEXT)
            without = el.load(folder).trace(TEXT)
        assert np.array_equal(changed.weights, without.weights)
        if name != "default_dtype":
            assert not np.array_equal(changed.weights, expected.weights)
        assert name in changed.about["context"]
        assert len(changed.notices) == len(expected.notices) + 1
        assert len(entries(model)) == (1 if first == "plain" else 0)
        again = el.load(folder, cache=tmp_path / first).trace(TEXT)
        assert np.array_equal(again.weights, expected.weights), "the disk was poisoned"
        assert "context" not in again.about


def test_a_wrapped_model_is_never_kept_and_says_so_once(tmp_path, caplog):
    model = el.wrap(BERT.model(), tiny_tokenizer(), name="bert", cache=tmp_path)
    with torch.inference_mode():
        of_inference_mode = el.wrap(BERT.model(), tiny_tokenizer(), cache=tmp_path)
    assert caplog.text.count("not kept on disk: whether it is still what its files hold") == 2
    for each in (model, of_inference_mode):
        assert np.array_equal(each.trace(TEXT).weights, each.trace(TEXT).weights)
    assert not entries(model)


def test_neither_a_model_nor_its_copy_is_kept(cached):
    other = copy.copy(cached)
    assert (cached._kept, other._kept) == (None, None)


def test_a_deep_copy_is_not_kept(cached):
    cached.trace(TEXT)
    other = copy.deepcopy(cached)
    other.hf.embeddings.word_embeddings.weight.data.mul_(2)
    assert np.array_equal(other.trace(TEXT).weights, today(other))
    assert len(entries(cached)) == 1
    cached.trace(TEXT + " .")
    assert len(entries(cached)) == 2


def test_analyses_and_views_do_not_hand_a_model_out(cached, caplog):
    trace = cached.trace(TEXT)
    el.analyse(cached, [TEXT], [el.statistics.Entropy(), el.statistics.AverageAttention()])
    el.space(cached, ["the cat sat on the mat .", "a dog ran home"], project="pca")
    el.attribute(cached, TEXT, method="norms")
    cached.trace(TEXT, interventions=el.Patch(trace, [(0, 1)]))
    assert "no longer kept" not in caplog.text
    kept_so_far = len(entries(cached))
    cached.trace(TEXT + " .")
    assert len(entries(cached)) == kept_so_far + 1


# ---- The folder


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

    monkeypatch.setattr(el.Trace, "save", full)
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
    leftover = new_part(tmp_path / "00")
    leftover.mkdir(parents=True)
    (leftover / ".tmpAbCdEf").write_bytes(b"half")  # as safetensors calls it
    for path in (leftover / ".tmpAbCdEf", leftover):
        os.utime(path, (1, 1))
    cache.put("ff" + "a" * 62, el.Trace.from_arrays(np.ones((1, 1, 1, 1), dtype=np.float32), ["x"]))
    assert not leftover.exists(), "what a killed process left is swept away when it is old"


def test_clear_removes_every_entry(cached):
    cached.traces(["the cat", "the dog"])
    assert cached.cache.clear() == 2
    assert not entries(cached)


def test_entries_are_removed_and_other_files_in_the_folder_are_not(tmp_path):
    others = [tmp_path / "v1" / "model.safetensors", tmp_path / "ab" / "model.safetensors", tmp_path / "ab" / f"{'a' * 64}.safetensors"]
    for path in others:
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(bytes(100))
    trace = el.Trace.from_arrays(np.ones((1, 1, 1, 1), dtype=np.float32), ["x"])
    size = trace.save(tmp_path / "trace.safetensors").stat().st_size
    cache = el.traces.TraceCache(tmp_path, max_bytes=size)
    for digit in "cd":
        cache.put(digit * 64, trace)
    assert cache.size() == size
    assert cache.clear() == 1
    assert all(path.exists() for path in others)
