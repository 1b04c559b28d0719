"""What a model of transformers returns with `output_attentions=True`, as stacks; also what its `generate` returns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from eyeline.capture.arrays import as_numpy, stack_from_arrays
from eyeline.capture.sources.tokens import text_from
from eyeline.capture.stack import Stack
from eyeline.errors import TraceError

#: The attention of a model with an encoder and a decoder → stack, whose tokens are the queries, whose the keys.
TWO_TOWERS = {
    "encoder_attentions": ("encoder", "encoder", "encoder"),
    "decoder_attentions": ("decoder", "decoder", "decoder"),
    "cross_attentions": ("cross", "decoder", "encoder"),
}
HOW = "Load the model with attn_implementation='eager' and call it with output_attentions=True."


def stacks_of_outputs(
    outputs: Any, tokens: Sequence[str] | None, decoder_tokens: Sequence[str] | None = None, second_from: int | None = None
) -> dict[str, Stack]:
    """The stacks of a model's output, or of the tuple of its attentions."""
    two = {name: attention for name in TWO_TOWERS if (attention := _field(outputs, name))}
    if "encoder_attentions" in two or "decoder_attentions" in two:
        texts = {"encoder": (tokens, "tokens"), "decoder": (decoder_tokens, "decoder_tokens")}
        stacks = {}
        for name, attention in two.items():
            stack, query_side, key_side = TWO_TOWERS[name]
            query_text, key_text = text_from(*texts[query_side]), text_from(*texts[key_side])
            stacks[stack] = stack_from_arrays(layers_of(attention), query_text, key_text, name=stack)
        return stacks
    attention = _field(outputs, "attentions") if _has_fields(outputs) else outputs
    if attention is None or len(attention) == 0:
        raise TraceError("No attention in this output.", HOW)
    layers = layers_of(attention)
    text = text_from(tokens, "tokens", second_from)
    name = "decoder" if looks_back_only(layers) else "encoder"
    return {name: stack_from_arrays(layers, text, name=name)}


def layers_of(attention: Any) -> Any:
    """An array for each layer. What `generate` returns has the layers of each step inside a step: they are joined to whole maps."""
    if isinstance(attention, tuple | list) and attention and isinstance(attention[0], tuple | list):
        return [_joined([as_numpy(step[layer]) for step in attention], layer) for layer in range(len(attention[0]))]
    return attention


def _joined(steps: list[np.ndarray], layer: int) -> np.ndarray:
    """[batch, head, query, key] from the steps of one layer, each with its new queries and all keys so far."""
    n_keys = max(step.shape[-1] for step in steps)
    if any(step.ndim != 4 for step in steps):
        raise TraceError(f"Layer {layer}: a step of shape {list(steps[0].shape)}.", "A step of generate is [batch, head, query, key].")
    return np.concatenate([np.pad(step, [(0, 0)] * 3 + [(0, n_keys - step.shape[-1])]) for step in steps], axis=2)


def looks_back_only(layers: Any) -> bool:
    """Whether no query of any layer looks at a later key: the attention of a decoder."""
    maps = [as_numpy(layer) for layer in layers if layer is not None]
    square = [weights for weights in maps if weights.ndim >= 2 and weights.shape[-1] == weights.shape[-2] > 1]
    return bool(square) and len(square) == len(maps) and not any(np.triu(weights, 1).any() for weights in square)


def _has_fields(outputs: Any) -> bool:
    return isinstance(outputs, Mapping) or hasattr(outputs, "attentions")


def _field(outputs: Any, name: str) -> Any:
    return outputs.get(name) if isinstance(outputs, Mapping) else getattr(outputs, name, None)
