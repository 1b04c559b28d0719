"""What was saved inside a trace of nnsight: a value for each layer, or the model's output."""

from __future__ import annotations

from typing import Any

from eyeline.errors import TraceError


def saved_attention(saved: Any) -> Any:
    """What was saved, as `stacks_of_outputs` takes it: proxies of older versions become their values, results of modules their weights."""
    saved = _value(saved)
    if not isinstance(saved, list | tuple):
        return saved
    layers = [_weights(_value(layer), number) for number, layer in enumerate(saved)]
    if not layers:
        raise TraceError("Nothing was saved.", "Save each layer: weights = nnsight.save([layer.attn.output[1] for layer in layers])")
    return layers


def _value(saved: Any) -> Any:
    """The value of a proxy; other objects are returned as they are."""
    is_proxy = type(saved).__module__.partition(".")[0] == "nnsight" and hasattr(saved, "value")
    return saved.value if is_proxy else saved


def _weights(layer: Any, number: int) -> Any:
    """The weights in what an attention module returned, (output, weights); an array is taken as it is."""
    if not isinstance(layer, list | tuple):
        return layer
    arrays = [item for item in map(_value, layer) if getattr(item, "ndim", 0) == 4]
    if len(arrays) != 1:
        raise TraceError(
            f"The module of layer {number} returned no weights.",
            "Load the model with attn_implementation='eager', and save the output of its attention modules.",
        )
    return arrays[0]
