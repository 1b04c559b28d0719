"""Attention from any source: NumPy, torch, JAX or TensorFlow, a list or one array, checked before use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from eyeline.capture.stack import Layers, Stack
from eyeline.errors import TraceError
from eyeline.text.tokenized import TokenizedText

#: How far a row may sum above 1: what half precision loses.
TOLERANCE = 0.01
#: Why an array is missing; {name}: which one.
NOT_AMONG_ARRAYS = "it was not among the arrays; pass {name}=…"


def stack_from_arrays(
    weights: Any,
    query_text: TokenizedText,
    key_text: TokenizedText | None = None,
    *,
    name: str = "encoder",
    layers: Sequence[int] | None = None,
    queries: Any = None,
    keys: Any = None,
    values: Any = None,
    scale: float | Sequence[float] | None = None,
) -> Stack:
    """A stack from one array per layer: [head, query, key] (queries, keys, values: [head, token, dim]). A batch axis of size 1 is dropped.

    Layers may differ in their number of heads. Rows sum to 1 or less (masked rows to 0); anything else is an error that gives its position.
    """
    maps = by_layer(weights, "weights")
    numbers = tuple(range(len(maps))) if layers is None else tuple(layers)
    given = {"queries": queries, "keys": keys, "values": values}
    vectors = {what: by_layer(arrays, what) for what, arrays in given.items() if arrays is not None}
    scales: tuple[float, ...] = ()
    if scale is not None:
        scales = scales_of(scale, len(numbers))
    elif "queries" in vectors:
        scales = tuple(float(array.shape[-1] ** -0.5) for array in vectors["queries"])
    stack = Stack(
        name=name,
        query_text=query_text,
        key_text=query_text if key_text is None else key_text,
        layers=numbers,
        weights_by_layer=maps,
        **{f"{what}_by_layer": arrays for what, arrays in vectors.items()},  # type: ignore[arg-type]
        scales=scales,
        why_missing=NOT_AMONG_ARRAYS,
    )
    for layer, layer_weights in zip(numbers, maps, strict=True):
        check_weights(layer_weights, layer, stack)
    return stack


def scales_of(scale: Any, n_layers: int) -> tuple[float, ...]:
    """The scale of each layer, from one number or one for each layer."""
    try:
        given = np.asarray(scale, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise TraceError(f"scale={scale!r}.", "Give one number, or one per layer, usually 1/√dim.") from error
    if given.ndim > 1 or not np.isfinite(given).all():
        raise TraceError(f"scale={scale!r}.", "Give one number, or one per layer, usually 1/√dim.")
    return tuple(map(float, given)) if given.ndim else (float(given),) * n_layers


def by_layer(given: Any, what: str) -> Layers:
    """One float32 array [head, …, …] for each layer; arrays that are float32 already are not copied."""
    if given is None:
        raise TraceError(f"The {what} are None.", "Give an array for each layer.", "From a model: attn_implementation='eager'.")
    if hasattr(given, "detach"):
        given = as_numpy(given)
    if isinstance(given, str | bytes | Mapping) or not isinstance(given, Iterable) or getattr(given, "ndim", 1) == 0:
        raise TraceError(f"The {what} are a single {type(given).__name__}.", "Give an array per layer: a list, or [layer, head, …, …].")
    layers = [one_layer(layer, number, what) for number, layer in enumerate(given)]
    if not layers:
        raise TraceError(f"No {what}.", "Give an array for each layer.", "From a model: attn_implementation='eager' and output_attentions.")
    return tuple(layers)


def one_layer(layer: Any, number: int, what: str) -> np.ndarray:
    """The array of one layer, [head, query, key] or [head, token, dim], without a batch of one; another shape is refused."""
    if layer is None:
        raise TraceError(
            f"Layer {number} has no {what} (None).",
            "transformers gives None where attention is computed without weights.",
            "Load the model with attn_implementation='eager', or leave the layer out.",
        )
    array = as_numpy(layer)
    if array.ndim == 4:
        if len(array) != 1:
            raise TraceError(f"Layer {number} holds a batch of {len(array)}.", f"Pass one text at a time: [layer[:1] for layer in {what}].")
        array = array[0]
    if array.ndim != 3:
        wanted = "[layer, head, query, key]" if what == "weights" else "[layer, head, token, dim]"
        raise TraceError(
            f"The {what} of layer {number} have shape {list(array.shape)}.", f"Needed: {wanted}. One layer alone goes in a list."
        )
    if 0 in array.shape:
        raise TraceError(f"The {what} of layer {number} have shape {list(array.shape)}: nothing in them.", "Leave the layer out.")
    return array


def as_numpy(array: Any) -> np.ndarray:
    """An array of torch, NumPy, JAX or TensorFlow as NumPy floats. Only NumPy is imported."""
    if hasattr(array, "detach"):  # torch, without importing it
        array = array.detach().cpu()
        array = array.numpy() if array.is_complex() else array.float().numpy()
    try:
        if np.iscomplexobj(array):
            raise TraceError("The numbers are complex.", "Attention is real: take the part that is meant, such as array.real.")
        return np.asarray(array, dtype=np.float32)
    except TraceError:
        raise
    except (TypeError, ValueError) as error:
        raise TraceError(
            f"{type(array).__name__} is not an array of numbers.", "Pass arrays of NumPy, torch, JAX or TensorFlow, one per layer."
        ) from error


def check_weights(weights: np.ndarray, layer: int, stack: Stack) -> None:
    """Refuse what is not attention: not finite, negative, or rows that sum to more than 1."""
    tokens, keys = stack.query_text.tokens, stack.key_text.tokens

    def location(head: int, query: int) -> str:
        return f"layer {layer}, head {head}, query {query} ({tokens[query]})"

    lowest, highest = weights.min(), weights.max()
    if not np.isfinite(lowest) or not np.isfinite(highest):
        head, query, key = np.argwhere(~np.isfinite(weights))[0]
        value = weights[head, query, key]
        raise TraceError(f"Not a finite weight at {location(head, query)}, key {key} ({keys[key]}): {value}.", "Weights are finite.")
    if lowest < 0:
        head, query, key = np.unravel_index(weights.argmin(), weights.shape)
        raise TraceError(
            f"A negative weight at {location(int(head), int(query))}, key {key} ({keys[key]}): {lowest:.4g}.",
            "Attention weights are from 0 to 1. Are these scores before the softmax?",
        )
    sums = weights.sum(axis=-1)  # [head, query]
    if sums.max() > 1 + TOLERANCE:
        head, query = np.unravel_index(sums.argmax(), sums.shape)
        raise TraceError(
            f"The weights at {location(int(head), int(query))} sum to {sums.max():.4g}.",
            "A row sums to 1 or less. Are queries the rows, and is this after the softmax?",
        )
