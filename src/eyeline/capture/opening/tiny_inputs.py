"""The small input that a model is opened with: of the kind it reads, within its vocabulary and its longest text."""

from __future__ import annotations

import logging

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.inputs import decoder_start, longest_text, vocabulary_size
from eyeline.capture.opening.tiny_pass import PADDING
from eyeline.errors import ModelError

log = logging.getLogger("eyeline")

TINY_TEXT = "The cat sat on the mat."
TINY_LENGTH, TINY_TARGET_LENGTH = 8, 5
PATCHES = 4  # a side of the image
#: Names under which configurations say how many features a frame of sound has, and how many frames are tried.
AUDIO_FEATURES = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "num_features", "input_dim")
AUDIO_FRAMES = 64
FIRST_ID = 3  # ids below are most often special tokens


def tiny_inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, torch.Tensor]:
    """A small input of the kind this model takes; encoder and decoder get different lengths so that their maps differ in shape."""
    config, main = model.config, model.main_input_name
    generator = torch.Generator().manual_seed(0)
    inputs: dict[str, torch.Tensor]
    if main == "input_ids":
        ids = _text_ids(model, tokenizer)
        inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    elif main == "pixel_values":
        inputs = {main: _image(model, generator)}
    elif main == "input_features":
        inputs = {main: torch.randn(1, *_audio_shape(model), generator=generator)}
    elif main == "input_values":
        inputs = {main: torch.randn(1, 16_000, generator=generator)}
    else:
        raise ModelError(
            f"{type(model).__name__} reads {main!r}.",
            "eyeline can open models that read token ids (input_ids), images (pixel_values) or sound (input_features, input_values).",
        )
    if config.is_encoder_decoder:
        start = decoder_start(model)
        inputs["decoder_input_ids"] = torch.tensor([[start, *plain_ids(model, TINY_TARGET_LENGTH)[1:]]])
    parameter = next(model.parameters())
    return {name: tensor.to(parameter.device, parameter.dtype if tensor.is_floating_point() else None) for name, tensor in inputs.items()}


def _image(model: PreTrainedModel, generator: torch.Generator) -> torch.Tensor:
    """A few patches where the model takes any size (it then opens in a fraction of the time), else an image of its own size."""
    size, patch = getattr(model.config, "image_size", None) or 224, getattr(model.config, "patch_size", None)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    channels = getattr(model.config, "num_channels", None) or 3
    if isinstance(patch, int) and 0 < PATCHES * patch < min(height, width):
        image = torch.randn(1, channels, PATCHES * patch, PATCHES * patch, generator=generator)
        parameter = next(model.parameters())
        try:
            with torch.no_grad():
                model(pixel_values=image.to(parameter.device, parameter.dtype))
            return image
        except Exception as error:  # noqa: BLE001 - any model's code runs here; most families take one size only
            log.debug("%s takes no image of %d patches: %s", type(model).__name__, PATCHES**2, error)
    return torch.randn(1, channels, height, width, generator=generator)


def _audio_shape(model: PreTrainedModel) -> tuple[int, int]:
    """[mel bins, frames] as Whisper reads them, or [frames, features]."""
    config = model.config
    length = getattr(config, "max_source_positions", None)
    if length is not None and getattr(config, "num_mel_bins", None) is not None:
        return config.num_mel_bins, 2 * length
    sizes = [getattr(config, name, None) for name in AUDIO_FEATURES]
    known = next((size for size in sizes if isinstance(size, int)), None)
    if known is None:
        raise ModelError(
            f"{type(model).__name__} reads sound, but its configuration does not say how many features a frame has.",
            "Sound models with num_mel_bins and max_source_positions (Whisper) and those that read input_values can be opened.",
        )
    return AUDIO_FRAMES, known


def _text_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> list[int]:
    if tokenizer is None:
        return plain_ids(model, TINY_LENGTH)
    try:
        ids: list[int] = tokenizer(TINY_TEXT).input_ids
    except Exception:  # noqa: BLE001 - any tokeniser's code runs here; some read something else than a text (TAPAS: a table)
        return plain_ids(model, TINY_LENGTH)
    return ids[: _room(model, len(ids))] or plain_ids(model, TINY_LENGTH)


def plain_ids(model: PreTrainedModel, length: int) -> list[int]:
    """So many token ids that the model knows and that are not padding, as many as it takes."""
    vocabulary = vocabulary_size(model) or FIRST_ID + length
    padding = getattr(model.config.get_text_config(), "pad_token_id", None)
    known = [number for number in range(min(FIRST_ID, vocabulary - 1), vocabulary) if number != padding] or [0]
    known = known if len(known) > 1 else [number for number in range(vocabulary) if number != padding] or [0]
    return [known[index % len(known)] for index in range(_room(model, length))]


def _room(model: PreTrainedModel, length: int) -> int:
    """At most so many tokens: some padding is added to them later."""
    longest = longest_text(model, None)
    return length if longest is None else max(1, min(length, longest - PADDING))
