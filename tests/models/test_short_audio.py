"""Whisper reads 3,000 frames each time: it is opened with a few, and reads its own length afterwards."""

from __future__ import annotations

import torch
import transformers as t

import eyeline as el
from eyeline.models.opening import SHORT_POSITIONS

POSITIONS = 100


def small_whisper() -> t.WhisperModel:
    config = t.WhisperConfig(
        vocab_size=64,
        d_model=32,
        num_mel_bins=8,
        max_source_positions=POSITIONS,
        max_target_positions=POSITIONS,
        **dict.fromkeys(("encoder_layers", "decoder_layers", "encoder_attention_heads", "decoder_attention_heads"), 2),
        **dict.fromkeys(("encoder_ffn_dim", "decoder_ffn_dim"), 32),
        **dict.fromkeys(("pad_token_id", "bos_token_id", "decoder_start_token_id"), 1),
        eos_token_id=2,
    )
    torch.manual_seed(0)
    return t.WhisperModel(config).eval()


def frames_while_opened(hf: t.WhisperModel) -> list[int]:
    seen: list[int] = []
    handle = hf.encoder.conv1.register_forward_pre_hook(lambda _module, inputs: seen.append(inputs[0].shape[-1]))
    el.wrap(hf)
    handle.remove()
    return seen


def test_a_model_of_sound_is_opened_with_a_few_frames():
    assert frames_while_opened(small_whisper()) == [2 * SHORT_POSITIONS] * 3


def test_afterwards_it_reads_its_own_length_and_the_maps_are_its_own():
    hf = small_whisper()
    inputs = {"input_features": torch.randn(1, 8, 2 * POSITIONS), "decoder_input_ids": torch.tensor([[1, 5, 6, 7]])}
    with torch.no_grad():
        hf.set_attn_implementation("eager")
        own = hf(**inputs, output_attentions=True, use_cache=False)
    model = el.wrap(hf)
    assert (hf.config.max_source_positions, hf.encoder.embed_positions.num_embeddings) == (POSITIONS, POSITIONS)
    trace = model.trace_inputs(inputs)
    for stack, maps in (("encoder", own.encoder_attentions), ("decoder", own.decoder_attentions), ("cross", own.cross_attentions)):
        assert torch.equal(torch.as_tensor(getattr(trace, stack).weights), torch.cat(list(maps)))


def test_a_model_that_does_not_take_a_short_audio_is_opened_with_its_own_length():
    hf = small_whisper()

    def refuse_short(_module, inputs):
        if inputs[0].shape[-1] < 2 * POSITIONS:
            raise ValueError("too short")

    hf.encoder.conv1.register_forward_pre_hook(refuse_short)
    model = el.wrap(hf)
    assert model.layout.recorded
    assert hf.config.max_source_positions == POSITIONS
