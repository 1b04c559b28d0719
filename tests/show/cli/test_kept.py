"""A text seen before is answered from the disk, by a program that never imports torch."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import eyeline as el
from eyeline.look.trace import Selection
from eyeline.look.trace_cache import kept_trace
from eyeline.text.source import Source
from tests.models.families import BY_NAME, tiny_tokenizer

TEXT = "the cat sat on the mat"

#: A program in which importing torch or transformers fails.
WITHOUT_TORCH = """
import sys
sys.modules["torch"] = sys.modules["transformers"] = None
from eyeline.show.cli.main import main
sys.argv = ["eyeline", *sys.argv[1:]]
main()
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EYELINE_CACHE", str(tmp_path / "cache"))
    BY_NAME["bert"].model().save_pretrained(tmp_path / "tiny")
    tiny_tokenizer().save_pretrained(tmp_path / "tiny")
    return tmp_path / "tiny"


def without_torch(*arguments: object) -> subprocess.CompletedProcess[str]:
    program = [sys.executable, "-c", WITHOUT_TORCH, *map(str, arguments)]
    return subprocess.run(program, capture_output=True, text=True, check=False, env={**os.environ, "COLUMNS": "200"})


def test_a_text_seen_before_needs_no_torch_and_another_does(model: Path, tmp_path: Path) -> None:
    trace = el.load(model, cache=True).trace(TEXT)
    done = without_torch("trace", TEXT, "--model", model, "-o", tmp_path / "again.safetensors")
    assert done.returncode == 0, done.stderr
    assert np.array_equal(el.open(tmp_path / "again.safetensors").weights, trace.weights)
    done = without_torch("view", TEXT, "--model", model, "-o", tmp_path / "head.html")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "head.html").stat().st_size > 10_000
    assert without_torch("trace", TEXT, "--model", model, "--no-cache").returncode == 1, "it was answered without the model"


def test_another_text_or_option_is_not_answered(model: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    el.load(model, cache=True).trace(TEXT)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert kept_trace(str(model), Source(TEXT)) is not None
    assert kept_trace(str(model), Source(TEXT, "")) is not None
    for text, pair in ((TEXT + " .", None), (TEXT, TEXT)):
        assert kept_trace(str(model), Source(text, pair)) is None
    for options in ({"layers": [0]}, {"heads": [0]}, {"rows": [0]}, {"precision": "float16"}, {"keep": ["weights"]}):
        assert kept_trace(str(model), Source(TEXT), Selection(**options)) is None
    assert kept_trace(str(model), Source(TEXT), truncate=True) is None


def test_changed_files_are_not_answered(model: Path) -> None:
    el.load(model, cache=True).trace(TEXT)
    assert without_torch("trace", TEXT, "--model", model).returncode == 0
    facts = (model / "tokenizer.json").stat()
    content = (model / "tokenizer.json").read_bytes()
    (model / "tokenizer.json").write_bytes(content[:-1] + b" ")
    os.utime(model / "tokenizer.json", ns=(facts.st_atime_ns, facts.st_mtime_ns))
    assert without_torch("trace", TEXT, "--model", model).returncode == 1
