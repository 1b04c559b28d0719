"""The tiny pass that a model makes when it is opened: run safely, and checked to be attention between tokens at all."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from transformers import PreTrainedModel

from eyeline.capture.opening.layer_numbers import LayerWatch, layer_numbers
from eyeline.errors import ModelError
from eyeline.words import Words

#: Names under which models report maps → the stack; empty: a model with one tower, whose maps show which stack it is.
REPORTED = {"encoder_attentions": "encoder", "decoder_attentions": "decoder", "attentions": "", "cross_attentions": "cross"}

#: How far rows may sum above 1 (half precision), and how far padding may move a weight before it counts as seen.
ROWS_WITHIN, PADDING_WITHIN = 1e-2, 1e-5
PADDING = 3  # tokens of padding to try with
WORDS = Words()


def run_tiny(model: PreTrainedModel, inputs: Mapping[str, torch.Tensor]) -> Any:
    """The model's own answer with its own maps; whatever it raises on a tiny input becomes an error that says so."""
    try:
        with torch.no_grad():
            return model(**inputs, output_attentions=True, **no_cache(model))
    except Exception as error:  # any model's code runs here
        reason = " ".join(str(error).split())[:300]
        raise ModelError(
            f"{type(model).__name__} could not be run on a tiny {'text' if 'input_ids' in inputs else 'input'}.",
            f"{type(error).__name__}: {reason}",
            "Is the tokeniser that of this model? Parts of larger models (a text or vision tower) can be opened by themselves.",
        ) from error


@dataclass(frozen=True)
class OwnMaps:
    """The maps that a model reports of one stack: under which name, at which indices of it, and of which of its layers."""

    name: str
    maps: tuple[torch.Tensor, ...]
    layers: tuple[int, ...]
    indices: tuple[int, ...]


def own_maps(output: Mapping[str, Any], watch: LayerWatch, tiny: Mapping[str, torch.Tensor]) -> tuple[dict[str, OwnMaps], tuple[str, ...]]:
    """The maps in a model's output, by stack, in the order encoder, decoder, cross; and a notice for each stack or layer that is left out.

    A model with a single tower reports `attentions`: it counts as a decoder where no token looks ahead.
    """
    stacks, notices = {}, []
    for name, stack in REPORTED.items():
        reported = [(index, weights) for index, weights in enumerate(output.get(name) or ()) if weights is not None]
        if not reported:
            if output.get(name):
                notices.append(WORDS("notice.model.built_without_maps"))
            continue
        if not all(isinstance(weights, torch.Tensor) and weights.ndim == 4 for _, weights in reported):
            notices.append(WORDS("notice.model.blocks", stack=stack or "model"))
            continue
        numbers = layer_numbers([watch.layer_of(weights) for _, weights in reported], [index for index, _ in reported])
        kept = [i for i, (_, weights) in enumerate(reported) if covers_pairs(stack, weights, tiny)]
        if len(kept) < len(reported):
            notices.append(_left_out(stack, [(numbers[i], reported[i][1]) for i in range(len(reported)) if i not in kept], bool(kept)))
        if kept:
            maps = tuple(reported[i][1] for i in kept)
            if (lowest := min(float(w.min()) for w in maps)) < 0 or max(float(w.sum(-1).max()) for w in maps) > 1 + ROWS_WITHIN:
                notices.append(_not_weights(stack, lowest, max(float(w.sum(-1).max()) for w in maps)))
                continue
            looks_ahead = any(weights.triu(1).any() for weights in maps)
            indices, layers = (tuple(reported[i][0] for i in kept), tuple(numbers[i] for i in kept))
            stacks[stack or ("encoder" if looks_ahead else "decoder")] = OwnMaps(name, maps, layers, indices)
    return stacks, tuple(notices)


def covers_pairs(stack: str, weights: torch.Tensor, tiny: Mapping[str, torch.Tensor]) -> bool:
    """Whether a map has one weight for every query and key: not so for windows, pooled or hashed attention."""
    lengths = {side: tiny[key].shape[1] for side, key in (("read", "input_ids"), ("written", "decoder_input_ids")) if key in tiny}
    query, key = ("written" if stack in ("decoder", "cross") else "read"), ("written" if stack == "decoder" else "read")
    expected = (lengths.get(query, weights.shape[2]), lengths.get(key, weights.shape[3]))
    is_square = stack == "cross" or weights.shape[2] == weights.shape[3]
    return len(weights) == 1 and tuple(weights.shape[2:]) == expected and is_square


def _left_out(stack: str, maps: list[tuple[int, torch.Tensor]], some_are_kept: bool) -> str:
    """A notice on maps that do not cover pairs of tokens: all of a stack, or those of some layers."""
    which = f"layers {', '.join(str(number) for number, _ in maps)}" if some_are_kept else "all layers"
    return WORDS("notice.model.windows", stack=stack or "model", layers=which, shape=list(maps[0][1].shape))


def _not_weights(stack: str, lowest: float, highest: float) -> str:
    """A notice on maps that are not attention: weights are not negative and sum to at most 1."""
    return WORDS("notice.model.not_weights", stack=stack or "model", lowest=f"{lowest:.3g}", highest=f"{highest:.3g}")


def with_padding(tiny: Mapping[str, torch.Tensor]) -> dict[str, torch.Tensor]:
    """The same input with padding after it."""
    padded = dict(tiny)
    for ids, mask in (("input_ids", "attention_mask"), ("decoder_input_ids", "decoder_attention_mask")):
        if ids in tiny:
            shown = tiny.get(mask, torch.ones_like(tiny[ids]))
            padded[ids] = torch.nn.functional.pad(tiny[ids], (0, PADDING), value=0)
            padded[mask] = torch.nn.functional.pad(shown, (0, PADDING), value=0)
    return padded


def same_but_for_padding(maps: tuple[torch.Tensor, ...], padded: tuple[torch.Tensor, ...]) -> bool:
    """Whether the maps of a padded input are those of the input itself, padding cut off, to the precision that they are in."""
    pairs = zip(maps, padded, strict=True)
    return all((m - p[:, :, : m.shape[2], : m.shape[3]]).abs().max() < max(PADDING_WITHIN, 4 * torch.finfo(m.dtype).eps) for m, p in pairs)


def no_cache(model: PreTrainedModel) -> dict[str, int]:
    """The arguments of a pass that keeps no keys and values for later passes."""
    return {"use_cache": False} if hasattr(model.config, "use_cache") else {}


def lean_pass(model: PreTrainedModel) -> dict[str, int]:
    """The same for passes whose logits are not read: those of a long text would take gigabytes."""
    return no_cache(model) | ({"logits_to_keep": 1} if "logits_to_keep" in inspect.signature(model.forward).parameters else {})
