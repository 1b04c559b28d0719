"""The tensors a model reads: padded batches of texts, and how long a text may be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.collect import Sides
from eyeline.capture.layout import Layout
from eyeline.errors import Advice, ModelError, TextError, TraceError
from eyeline.text.tokenized import TokenizedText

#: Above this a tokeniser's limit means "none was set".
NO_LIMIT = 10**9
#: Names under which configurations say how many tokens a text may have.
LIMITS = (
    "max_position_embeddings",
    "max_encoder_position_embeddings",
    "max_decoder_position_embeddings",
    "max_seq_len",
    "max_target_positions",
)


def decoder_start(model: PreTrainedModel) -> int:
    """The token a decoder starts from."""
    for config in (model.config, getattr(model, "generation_config", None)):
        for name in ("decoder_start_token_id", "bos_token_id"):
            start = getattr(config, name, None)
            if start is not None:
                return int(start[0] if isinstance(start, list) else start)
    raise ModelError(f"{type(model).__name__} does not say with which token its decoder starts.", "Set config.decoder_start_token_id.")


def longest_text(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> int | None:
    """How many tokens the model takes, special tokens included; None where there is no limit."""
    config = model.config.get_text_config()
    limits = [getattr(tokenizer, "model_max_length", None), *(getattr(config, name, None) for name in LIMITS)]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limits.append(len(module.weight) - module.padding_idx - 1)  # RoBERTa counts positions from padding_idx + 1
    known = [int(limit) for limit in limits if isinstance(limit, int | float) and 0 < limit < NO_LIMIT]
    return min(known) if known else None


def longest_input(model: PreTrainedModel, max_tokens: int | None) -> str:
    """The largest input that the model reads, as a phrase."""
    main, config = model.main_input_name, model.config
    if main == "input_ids":
        return "a text without limit" if max_tokens is None else f"a text of {max_tokens:,} tokens"
    writes = "" if max_tokens is None or not config.is_encoder_decoder else f"; it writes {max_tokens:,} tokens"
    if main == "pixel_values":
        size = getattr(config, "image_size", None)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        return ("an image" if height is None else f"an image of {height} x {width} pixels") + writes
    frames = getattr(config, "max_source_positions", None)
    return ("sound" if frames is None else f"sound of {2 * frames:,} frames") + writes


def vocabulary_size(model: PreTrainedModel) -> int | None:
    """How many tokens the model knows; None where it does not read tokens."""
    try:
        size = getattr(model.get_input_embeddings(), "num_embeddings", None)
    except (NotImplementedError, AttributeError):
        size = None
    return size if isinstance(size, int) else getattr(model.config.get_text_config(), "vocab_size", None)


def batch_inputs(model: PreTrainedModel, sides: Sequence[Sides], pad_id: int) -> dict[str, torch.Tensor]:
    """Token ids padded on the right, with their masks, and token types where the tokeniser gives them."""
    known = vocabulary_size(model)
    largest = max(max(side.source.ids) for side in sides)
    if known is not None and largest >= known:
        raise ModelError(f"The tokeniser gives token {largest}, but the model knows {known} tokens.", "It is another model's tokeniser.")
    inputs = _padded([side.source for side in sides], pad_id, "", model.device)
    targets = [side.target for side in sides if side.target is not None]
    if targets:
        inputs |= _padded(targets, pad_id, "decoder_", model.device)
    if all(side.source.types for side in sides):
        all_zero = not any(any(side.source.types) for side in sides)
        ids = inputs["input_ids"]
        inputs["token_type_ids"] = torch.zeros_like(ids) if all_zero else send(filled([side.source.types for side in sides], 0), ids.device)
    return inputs


def filled(rows: Sequence[Sequence[int]], fill: int) -> np.ndarray:
    """Rows of numbers as one array, shorter ones filled up on the right: [row, longest]."""
    numbers = np.full((len(rows), max(map(len, rows))), fill, np.int64)
    for index, row in enumerate(rows):
        numbers[index, : len(row)] = row
    return numbers


def send(array: np.ndarray, device: torch.device | str) -> torch.Tensor:
    """The array on a device. The copy to a GPU does not block."""
    tensor = torch.from_numpy(array)
    if torch.device(device).type == "cuda":
        return tensor.pin_memory().to(device, non_blocking=True)
    return tensor.to(device)


def check_tensors(inputs: Any) -> Mapping[str, torch.Tensor]:
    """Tensors by name, or an error that says what was given."""
    if not isinstance(inputs, Mapping) or not inputs or not all(isinstance(value, torch.Tensor) for value in inputs.values()):
        given = {n: type(v).__name__ for n, v in inputs.items()} if isinstance(inputs, Mapping) else type(inputs).__name__
        raise TextError(f"Inputs given as {given}.", "Give torch tensors by name: model.trace_inputs({'pixel_values': tensor}).")
    return inputs


def check_memory(layout: Layout, layers: Mapping[str, tuple[int, ...]], keep: Collection[str], sides: Iterable[Sides]) -> None:
    """Refuse texts that do not fit in memory: the maps that are kept, and the three that one layer needs while it is computed."""
    free = free_memory()
    for side in sides:
        need = 0
        for stack in layout.stacks:
            query, key = (len(text) for text in side.of(stack))
            kept = len(layers[stack]) if "weights" in keep else 0
            need += (kept + 3) * layout.n_heads(stack)[0] * query * key * 4
        if free is not None and need > free:
            raise TraceError(
                f"{len(side.source):,} tokens would need about {need / 1e9:.1f} GB, and {free / 1e9:.1f} GB are free.",
                Advice(
                    "Choose fewer layers (layers=[…]) or a shorter text; model.each_layer keeps none.",
                    "Choose fewer layers (--layers) or a shorter text.",
                    "Shorten the text.",
                ),
            )


def free_memory() -> int | None:
    """Bytes of memory that are available, on Linux; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), None)


def _padded(texts: Sequence[TokenizedText], pad_id: int, prefix: str, device: torch.device) -> dict[str, torch.Tensor]:
    ids = filled([text.ids for text in texts], pad_id)
    lengths = np.array([len(text) for text in texts])
    mask = (np.arange(ids.shape[1]) < lengths[:, None]).astype(np.int64)
    return {f"{prefix}input_ids": send(ids, device), f"{prefix}attention_mask": send(mask, device)}
