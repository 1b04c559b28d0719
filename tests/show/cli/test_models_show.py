"""`eyeline models show`: what a model that reads sound or images takes at most."""

from __future__ import annotations

import sys

import pytest
import torch
import transformers as t

from eyeline.show.cli import main as cli

SMALL = {"d_model": 16, "encoder_layers": 1, "decoder_layers": 1, "encoder_attention_heads": 2, "decoder_attention_heads": 2}
SPECIAL = {"pad_token_id": 0, "bos_token_id": 1, "eos_token_id": 2, "decoder_start_token_id": 1}
AUDIO = t.WhisperConfig(
    vocab_size=60, encoder_ffn_dim=16, decoder_ffn_dim=16, max_source_positions=32, max_target_positions=20, num_mel_bins=8,
    **SMALL, **SPECIAL,
)  # fmt: skip
IMAGES = t.Dinov2Config(image_size=56, patch_size=14, hidden_size=16, num_hidden_layers=1, num_attention_heads=2)


@pytest.mark.parametrize(
    ("config", "reads"),
    [(AUDIO, "sound of 64 frames; it writes 20 tokens"), (IMAGES, "an image of 56 x 56 pixels")],
    ids=["whisper", "dinov2"],
)
def test_what_a_model_reads_at_most_is_named_in_its_own_unit(monkeypatch, capsys, tmp_path, config, reads):
    torch.manual_seed(0)
    t.AutoModel.from_config(config).save_pretrained(tmp_path / "model")
    monkeypatch.setattr(sys, "argv", ["eyeline", "models", "show", str(tmp_path / "model")])
    with pytest.raises(SystemExit, match="0"):
        cli.main()
    message = capsys.readouterr().out
    assert reads in message
    assert "no limit" not in message
