"""The small input that a model is opened with: of the kind it reads, within its vocabulary and its longest text."""

from __future__ import annotations

import inspect
import logging

import torch
from transformers import PreTrainedConfig, PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.inputs import decoder_start, longest_text, vocabulary_size
from eyeline.capture.opening.tiny_pass import PADDING, no_cache
from eyeline.errors import ModelError

log = logging.getLogger("eyeline")

TINY_TEXT = "The cat sat on the mat."
TINY_LENGTH, TINY_TARGET_LENGTH = 8, 5
PATCHES = 4  # along each side of the image
#: Names under which configurations say how many features a frame of sound has, and how many frames are tried.
AUDIO_FEATURES = ("num_mel_bins", "input_feat_per_channel", "feature_projection_input_dim", "num_features", "input_dim")
AUDIO_FRAMES, WAVE_LENGTH = 64, 16_000
MAIN_INPUTS = ("input_ids", "pixel_values", "input_features", "input_values")
FIRST_ID = 3  # ids below are most often special tokens


def tiny_inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, torch.Tensor]:
    """The first of the small inputs that the model runs on."""
    *others, last = tiny_candidates(model, tokenizer)
    for inputs in others:
        try:
            with torch.no_grad():
                model(**inputs, **no_cache(model))
            return inputs
        except Exception as error:  # noqa: BLE001 - any model's code runs here; most image models take one size only
            log.debug("%s does not take %s: %s", type(model).__name__, {name: list(v.shape) for name, v in inputs.items()}, error)
    return last


def tiny_candidates(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> list[dict[str, torch.Tensor]]:
    """Small inputs of the kind this model takes, the quickest first; encoder and decoder get different lengths so that their maps differ
    in shape. A text is one input; how large an image or a sound must be is not always in the configuration."""
    main = main_input(model)
    generator = torch.Generator().manual_seed(0)
    candidates: list[dict[str, torch.Tensor]]
    if main == "input_ids":
        ids = _text_ids(model, tokenizer)
        candidates = [{"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}]
    elif main == "pixel_values":
        candidates = [{main: torch.randn(1, *shape, generator=generator)} for shape in _image_shapes(model.config)]
    elif main == "input_features":
        candidates = [{main: torch.randn(1, *shape, generator=generator)} for shape in _audio_shapes(model)]
        mask = f"{main}_mask"
        if mask in inspect.signature(model.forward).parameters:
            candidates += [{main: c[main], mask: torch.ones(1, max(c[main].shape[1:]), dtype=torch.long)} for c in candidates]
    elif main == "input_values":
        candidates = [{main: torch.randn(1, *_wave_shape(model.config), generator=generator)}]
    else:
        raise ModelError(
            f"{type(model).__name__} reads {main!r}.",
            "eyeline can open models that read token ids (input_ids), images (pixel_values) or sound (input_features, input_values).",
        )
    parameter = next(model.parameters())
    if model.config.is_encoder_decoder:
        written = torch.tensor([[decoder_start(model), *plain_ids(model, TINY_TARGET_LENGTH)[1:]]])
        candidates = [{**inputs, "decoder_input_ids": written} for inputs in candidates]
    return [
        {name: tensor.to(parameter.device, parameter.dtype if tensor.is_floating_point() else None) for name, tensor in inputs.items()}
        for inputs in candidates
    ]


def main_input(model: PreTrainedModel) -> str:
    """The name of what the model reads: what it says, unless its forward takes no such thing (vision towers that say input_ids)."""
    takes = inspect.signature(model.forward).parameters
    declared = str(model.main_input_name)  # a list of several, in some families
    return declared if declared in takes else next((name for name in MAIN_INPUTS if name in takes), declared)


def _image_shapes(config: PreTrainedConfig) -> list[tuple[int, ...]]:
    """A few patches, which some models take and then open in a fraction of the time; then an image of the model's own size.

    [channels, height, width], of a video [frames, channels, height, width].
    """
    size, patch = getattr(config, "image_size", None) or 224, getattr(config, "patch_size", None)
    height, width = size if isinstance(size, list | tuple) else (size, size)
    frames, channels = getattr(config, "num_frames", None), getattr(config, "num_channels", None) or 3
    before = (channels,) if frames is None else (frames, channels)
    shapes: list[tuple[int, ...]] = [(*before, height, width)]
    in_windows = getattr(config, "window_size", None) is not None  # a small image would be a single window
    if isinstance(patch, int) and 0 < PATCHES * patch < min(height, width) and not in_windows:
        shapes.insert(0, (*before, PATCHES * patch, PATCHES * patch))
    return shapes


def _audio_shapes(model: PreTrainedModel) -> list[tuple[int, int]]:
    """[mel bins, frames] as Whisper reads them, or [frames, features]."""
    config = model.config
    length = getattr(config, "max_source_positions", None)
    if length is not None and getattr(config, "num_mel_bins", None) is not None:
        return [(config.num_mel_bins, 2 * length)]
    configs = [config, *(part for name in config.sub_configs if (part := getattr(config, name, None)) is not None)]
    sizes = [getattr(part, name, None) for part in configs for name in AUDIO_FEATURES]
    known = next((size for size in sizes if isinstance(size, int)), None)
    if known is None:
        raise ModelError(
            f"{type(model).__name__} reads sound, but its configuration does not say how many features a frame has.",
            "Sound models with num_mel_bins and max_source_positions (Whisper) and those that read input_values can be opened.",
        )
    return [(AUDIO_FRAMES, known), (known, AUDIO_FRAMES)]


def _wave_shape(config: PreTrainedConfig) -> tuple[int, ...]:
    """A second of sound; or [frames, mel bins] where that is what is read under this name (audio spectrogram transformers)."""
    frames, bins = getattr(config, "max_length", None), getattr(config, "num_mel_bins", None)
    return (frames, bins) if isinstance(frames, int) and isinstance(bins, int) else (WAVE_LENGTH,)


def _text_ids(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> list[int]:
    if tokenizer is None:
        return plain_ids(model, TINY_LENGTH)
    try:
        ids: list[int] = tokenizer(TINY_TEXT).input_ids
    except Exception:  # noqa: BLE001 - any tokeniser's code runs here; some read something else than a text (TAPAS: a table)
        return plain_ids(model, TINY_LENGTH)
    return ids[: _room(model, len(ids))] or plain_ids(model, TINY_LENGTH)


def plain_ids(model: PreTrainedModel, length: int) -> list[int]:
    """`length` token ids that the model knows and that are not padding; fewer where the model takes fewer."""
    vocabulary = vocabulary_size(model) or FIRST_ID + length
    padding = getattr(model.config.get_text_config(), "pad_token_id", None)
    known = [number for number in range(min(FIRST_ID, vocabulary - 1), vocabulary) if number != padding] or [0]
    known = known if len(known) > 1 else [number for number in range(vocabulary) if number != padding] or [0]
    return [known[index % len(known)] for index in range(_room(model, length))]


def _room(model: PreTrainedModel, length: int) -> int:
    """How many of `length` tokens the model takes when some padding is added to them later."""
    longest = longest_text(model, None)
    return length if longest is None else max(1, min(length, longest - PADDING))
