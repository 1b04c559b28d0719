"""The tensors a model wants: a tiny probe for loading, padded batches of texts, and how long a text may be."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.collect import Sides
from eyeline.capture.layout import Layout
from eyeline.errors import ModelError, TextError, TraceError
from eyeline.text.tokenized import TokenizedText

#: Above this a tokeniser's limit means "none was set".
NO_LIMIT = 10**9
PROBE_TEXT = "The cat sat on the mat."
PROBE_TARGET_LENGTH = 4


def probe_inputs(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> dict[str, torch.Tensor]:
    """A small input of the kind this model takes; encoder and decoder get different lengths so that their maps differ in shape."""
    config, main = model.config, model.main_input_name
    generator = torch.Generator().manual_seed(0)
    inputs: dict[str, torch.Tensor]
    if main == "input_ids":
        ids = tokenizer(PROBE_TEXT).input_ids if tokenizer is not None else list(range(3, 11))
        inputs = {"input_ids": torch.tensor([ids]), "attention_mask": torch.ones(1, len(ids), dtype=torch.long)}
    elif main == "pixel_values":
        size = getattr(config, "image_size", 224)
        height, width = size if isinstance(size, list | tuple) else (size, size)
        inputs = {main: torch.randn(1, getattr(config, "num_channels", 3), height, width, generator=generator)}
    elif main == "input_features":
        inputs = {main: torch.randn(1, config.num_mel_bins, 2 * config.max_source_positions, generator=generator)}
    elif main == "input_values":
        inputs = {main: torch.randn(1, 16_000, generator=generator)}
    else:
        raise ModelError(
            f"{type(model).__name__} reads {main!r}.",
            "eyeline can open models that read token ids (input_ids), images (pixel_values) or sound (input_features, input_values).",
        )
    if config.is_encoder_decoder:
        start = decoder_start(model)
        inputs["decoder_input_ids"] = torch.tensor([[start, *range(3, 3 + PROBE_TARGET_LENGTH)]])
    parameter = next(model.parameters())
    return {name: tensor.to(parameter.device, parameter.dtype if tensor.is_floating_point() else None) for name, tensor in inputs.items()}


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
    limits = [getattr(tokenizer, "model_max_length", None)]
    limits += [getattr(config, f"max_{side}position_embeddings", None) for side in ("", "encoder_", "decoder_")]
    for name, module in model.named_modules():
        if name.endswith("position_embeddings") and getattr(module, "padding_idx", None) is not None:
            limits.append(len(module.weight) - module.padding_idx - 1)  # RoBERTa counts positions from padding_idx + 1
    known = [int(limit) for limit in limits if limit is not None and 0 < limit < NO_LIMIT]
    return min(known) if known else None


def batch_inputs(
    model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None, sides: Sequence[Sides], pad_id: int
) -> dict[str, torch.Tensor]:
    """Token ids padded on the right, with their masks, and token types where the tokeniser gives them."""
    known = getattr(model.get_input_embeddings(), "num_embeddings", None)
    largest = max(number for side in sides for number in side.source.ids)
    if known is not None and largest >= known:
        raise ModelError(f"The tokeniser gives token {largest}, but the model knows {known} tokens.", "It is another model's tokeniser.")
    inputs = _padded([side.source for side in sides], pad_id, "", model.device)
    targets = [side.target for side in sides if side.target is not None]
    if targets:
        inputs |= _padded(targets, pad_id, "decoder_", model.device)
    if all(side.source.types for side in sides):
        width = inputs["input_ids"].shape[1]
        types = [[*side.source.types, *[0] * (width - len(side.source))] for side in sides]
        inputs["token_type_ids"] = torch.tensor(types, device=model.device)
    return inputs


def check_tensors(inputs: Any) -> Mapping[str, torch.Tensor]:
    """Tensors by name, or an error that says what was given."""
    if not isinstance(inputs, Mapping) or not inputs or not all(isinstance(value, torch.Tensor) for value in inputs.values()):
        given = {n: type(v).__name__ for n, v in inputs.items()} if isinstance(inputs, Mapping) else type(inputs).__name__
        raise TextError(f"Inputs given as {given}.", "Give torch tensors by name: model.trace_inputs({'pixel_values': tensor}).")
    return inputs


def check_memory(layout: Layout, layers: Mapping[str, tuple[int, ...]], keep: Collection[str], sides: Iterable[Sides]) -> None:
    """Refuse what cannot fit: the maps that are kept, and the three that one layer needs while it is computed."""
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
                "Choose fewer layers (layers=[…]) or a shorter text; model.each_layer keeps none.",
            )


def free_memory() -> int | None:
    """Bytes that can be had, on Linux; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), None)


def _padded(texts: Sequence[TokenizedText], pad_id: int, prefix: str, device: torch.device) -> dict[str, torch.Tensor]:
    width = max(map(len, texts))
    ids = [[*text.ids, *[pad_id] * (width - len(text))] for text in texts]
    mask = [[1] * len(text) + [0] * (width - len(text)) for text in texts]
    return {f"{prefix}input_ids": torch.tensor(ids, device=device), f"{prefix}attention_mask": torch.tensor(mask, device=device)}
