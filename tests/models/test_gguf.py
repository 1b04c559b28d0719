"""A GGUF file opens by its path, and as the only one of a folder; what its header claims is checked first."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import platformdirs
import pytest

import eyeline as el
from eyeline.errors import ModelError
from eyeline.models import load as load_module
from eyeline.show.cli.main import main

gguf = pytest.importorskip("gguf", reason="gguf is not installed (make setup)")
TOKENS = ["<unk>", "<s>", "</s>", *"▁abcdefghijklmnopqrstuvwxyz.,!?", *"0123456"]
LAYER = {
    "attn_norm": (32,), "ffn_norm": (32,), "attn_q": (32, 32), "attn_k": (16, 32), "attn_v": (16, 32), "attn_output": (32, 32),
    "ffn_gate": (32, 32), "ffn_up": (32, 32), "ffn_down": (32, 32),
}  # fmt: skip


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(platformdirs, "user_cache_path", lambda name: tmp_path / "cache" / name)


def write(path: Path, claimed_layers: int = 2) -> Path:
    """A Llama of two layers with random weights; its header may claim others."""
    path.parent.mkdir(parents=True, exist_ok=True)
    writer, numbers = gguf.GGUFWriter(path, "llama"), np.random.default_rng(0)

    def tensor(*shape: int) -> Any:
        return numbers.normal(size=shape).astype(np.float32)

    writer.add_context_length(64)
    writer.add_embedding_length(32)
    writer.add_block_count(claimed_layers)
    writer.add_feed_forward_length(32)
    writer.add_head_count(4)
    writer.add_head_count_kv(2)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(TOKENS))
    writer.add_rope_dimension_count(8)
    writer.add_tokenizer_model("llama")
    writer.add_token_list(TOKENS)
    writer.add_token_scores([0.0] * len(TOKENS))
    writer.add_token_types([2, 3, 3] + [1] * (len(TOKENS) - 3))
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_unk_token_id(0)
    for name in ("token_embd", "output"):
        writer.add_tensor(f"{name}.weight", tensor(len(TOKENS), 32))
    writer.add_tensor("output_norm.weight", tensor(32))
    for layer in range(2):
        for name, shape in LAYER.items():
            writer.add_tensor(f"blk.{layer}.{name}.weight", tensor(*shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    return path


def test_a_gguf_file_opens_by_its_path_and_as_the_only_one_of_a_folder(tmp_path: Path) -> None:
    path = write(tmp_path / "models" / "tiny.gguf")
    by_file, by_folder = el.load(path), el.load(path.parent)
    assert (by_file.name, by_folder.name) == ("tiny", "models")
    weights = by_file.trace("a cat").weights
    assert weights.shape[:2] == (2, 4)
    assert (weights == by_folder.trace("a cat").weights).all()
    write(tmp_path / "models" / "second.GGUF".lower())
    assert (el.load(path).trace("a cat").weights == weights).all()  # the folder beside it does not matter
    with pytest.raises(ModelError, match=r"2 \.gguf files in .*\n.*Give one of them: second\.gguf, tiny\.gguf"):
        el.load(path.parent)


def test_a_gguf_file_beside_config_json_is_still_the_one_that_is_opened(tmp_path: Path) -> None:
    path = write(tmp_path / "tiny.gguf")
    expected = el.load(path).trace("a cat").weights
    (tmp_path / "config.json").write_text('{"model_type": "bert", "num_hidden_layers": 1000000000}')
    (tmp_path / "tokenizer_config.json").write_text("{")
    assert (el.load(path).trace("a cat").weights == expected).all()


@pytest.mark.parametrize("layers", [9_999, 10**9, 2**32 - 1])
def test_layers_that_the_file_does_not_hold_are_refused(tmp_path: Path, layers: int) -> None:
    with pytest.raises(ModelError, match=r"[Ii]ts weights are 21 tensors"):
        el.load(write(tmp_path / "x.gguf", claimed_layers=layers))


def test_what_is_no_gguf_file_is_refused_by_its_name(tmp_path: Path) -> None:
    whole = write(tmp_path / "whole.gguf").read_bytes()
    for data in (b"", b"GGUF", b"GGUF" + b"\xff" * 100, b"GGUF\3" + bytes(100), whole[:200], whole[: len(whole) // 2]):
        (tmp_path / "x.gguf").write_bytes(data)
        with pytest.raises(ModelError, match=r"^x\.gguf cannot be opened"):
            el.load(tmp_path / "x.gguf")


def test_a_model_that_was_unpacked_beforehand_is_opened_without_reading_its_gguf_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write(tmp_path / "models" / "tiny.gguf")
    monkeypatch.setattr(sys, "argv", ["eyeline", "models", "unpack", str(path), str(tmp_path / "no.gguf")])
    with pytest.raises(SystemExit) as stop:
        main()
    assert not stop.value.code
    assert "no.gguf is not unpacked" in " ".join(capsys.readouterr().out.split())
    original = load_module._open

    def without_gguf(source: str, name: str, options: dict[str, Any], dtype: Any) -> Any:
        assert "gguf_file" not in options, "the GGUF file is read again"
        return original(source, name, options, dtype)

    monkeypatch.setattr(load_module, "_open", without_gguf)
    assert el.load(path).trace("a cat").weights.shape[:2] == (2, 4)
