"""The attention of one tower of a model on one text: an array for each layer. Arrays of any source become one, checked before use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import STACKS
from eyeline.mathematics import head_outputs, pool_to_words
from eyeline.messages import Message
from eyeline.text.tokenized import TokenizedText

Layers = tuple[np.ndarray, ...]


@dataclass(frozen=True)
class Stack:
    """One tower of attention (encoder, decoder or cross), a NumPy array for each layer that was kept.

    layers       the layer numbers in the model, zero-based
    *_by_layer   weights [head, query, key] · queries [head, query, dim] · keys, values [key head, key, dim];
                 mask [query, key], True where a query may look (None: everywhere) · bias [head, query, key] or None ·
                 gates [head, query, dim], which the model multiplies what heads write with, or None (few models have them).
                 An empty tuple: not kept.
    scales       what q·k is multiplied with, one number per layer
    why_missing  why there are no other arrays, with {name} for the name of what is missing; empty: they were not kept
    plain        whether softmax(q·kᵀ·scale + mask + bias) is all that is computed (no softcap, no sink)
    """

    name: str
    query_text: TokenizedText
    key_text: TokenizedText
    layers: tuple[int, ...]
    weights_by_layer: Layers = ()
    queries_by_layer: Layers = ()
    keys_by_layer: Layers = ()
    values_by_layer: Layers = ()
    mask_by_layer: tuple[np.ndarray | None, ...] = ()
    bias_by_layer: tuple[np.ndarray | None, ...] = ()
    gates_by_layer: tuple[np.ndarray | None, ...] = ()
    scales: tuple[float, ...] = ()
    plain: bool | None = None
    level: str = "token"
    why_missing: str = ""

    def __post_init__(self) -> None:
        if self.name not in STACKS:
            raise TraceError(f"A stack named {self.name!r}.", f"Choices: {', '.join(STACKS)}.")
        n_query, n_key = len(self.query_text), len(self.key_text)
        for what, rows in (("weights", n_query), ("queries", n_query), ("keys", n_key), ("values", n_key)):
            arrays: Layers = getattr(self, f"{what}_by_layer")
            if arrays and len(arrays) != len(self.layers):
                raise TraceError(f"{len(self.layers)} layers, but {what} of {len(arrays)}.", "Give an array for each layer.")
            for layer, array in zip(self.layers, arrays, strict=False):
                if array.ndim != 3 or array.shape[1] != rows:
                    self._misfit(what, layer, array, self.query_text if rows == n_query else self.key_text)
                if what == "weights" and array.shape[2] != n_key:
                    self._misfit(what, layer, array, self.key_text)

    def _misfit(self, what: str, layer: int, array: np.ndarray, text: TokenizedText) -> None:
        shown = " ".join(text.tokens[:3]) + (" … " + text.tokens[-1] if len(text) > 3 else "")
        raise TraceError(
            f"{len(text)} tokens, but the {what} of layer {layer} have shape {list(array.shape)}.",
            f"tokens: {shown}",
            "Weights are [head, query, key]; queries, keys and values [head, token, dim]. Pass the text they were made from.",
        )

    def _stacked(self, what: str) -> np.ndarray:
        arrays: Layers = getattr(self, f"{what}_by_layer")
        self.check_has(what)
        base = arrays[0].base
        if isinstance(base, np.ndarray) and base.shape == (len(arrays), *arrays[0].shape) and all(a.base is base for a in arrays):
            return base
        if len({array.shape for array in arrays}) > 1:
            raise TraceError(
                f"The {what} differ in shape from layer to layer: {', '.join(str(list(a.shape)) for a in arrays)}.",
                f"Read them layer by layer: stack.{what}_by_layer.",
            )
        stacked = np.stack(arrays)
        # From here on the layers are views of the one block, so that the next question costs nothing and nothing is held twice.
        object.__setattr__(self, f"{what}_by_layer", tuple(stacked))
        return stacked

    @property
    def weights(self) -> np.ndarray:
        """[layer, head, query, key]"""
        return self._stacked("weights")

    @property
    def queries(self) -> np.ndarray:
        """[layer, head, query, dim], as used: after rotary embedding"""
        return self._stacked("queries")

    @property
    def keys(self) -> np.ndarray:
        """[layer, key head, key, dim], as used; grouped-query models have fewer key heads than heads"""
        return self._stacked("keys")

    @property
    def values(self) -> np.ndarray:
        """[layer, key head, key, dim]"""
        return self._stacked("values")

    @property
    def outputs(self) -> np.ndarray:
        """[layer, head, query, dim]: o_i = g_i · Σ_j a_ij · v_j, what each head writes, as the output projection reads it

        g are the gates of models that have some (Qwen3-Next), and 1 in all others."""
        self.check_has("weights")
        self.check_has("values")
        outputs = self.outputs_by_layer
        if len({output.shape for output in outputs}) > 1:
            raise TraceError(
                f"What heads write differs in shape from layer to layer: {', '.join(str(list(output.shape)) for output in outputs)}.",
                "Read it layer by layer: stack.outputs_by_layer.",
            )
        return np.stack(outputs)

    @property
    def outputs_by_layer(self) -> Layers:
        """The same, an array [head, query, dim] for each layer."""
        self.check_has("weights")
        self.check_has("values")
        outputs = [head_outputs(*pair) for pair in zip(self.weights_by_layer, self.values_by_layer, strict=True)]
        gates = self.gates_by_layer or (None,) * len(outputs)
        return tuple(output if gate is None else output * gate for output, gate in zip(outputs, gates, strict=True))

    def output_of(self, layer: int, head: int) -> np.ndarray:
        """[query, dim]: what one head writes. `layer` is the model's own number of it."""
        self.check_has("weights")
        self.check_has("values")
        index = self.layers.index(layer)
        weights, values = self.weights_by_layer[index], self.values_by_layer[index]
        if head >= len(weights):
            raise TraceError(f"This trace has no head {head} in layer {layer}.", f"It has {len(weights)} heads there.")
        output: np.ndarray = weights[head] @ values[head * len(values) // len(weights)]
        gates = self.gates_by_layer[index] if self.gates_by_layer else None  # [head, query, dim]
        return output if gates is None else output * gates[head]

    @property
    def n_heads(self) -> int:
        """Query heads in a layer (of the first, where layers differ)."""
        return next(len(arrays[0]) for arrays in (self.weights_by_layer, self.queries_by_layer) if arrays)

    @property
    def n_key_heads(self) -> int:
        """Key heads in a layer: as many as heads, or fewer where queries share keys."""
        arrays = self.keys_by_layer or self.values_by_layer
        return len(arrays[0]) if arrays else self.n_heads

    def has(self, what: str) -> bool:
        """Whether weights, queries, keys or values were kept."""
        return bool(getattr(self, f"{what}_by_layer"))

    def words(self) -> Stack:
        """The same attention between words: summed over a word's pieces as keys, averaged over them as queries."""
        if self.level == "word":
            return self
        self.check_has("weights")
        query_groups, key_groups = self.query_text.word_groups, self.key_text.word_groups
        pooled = np.stack([pool_to_words(w, query_groups, key_groups) for w in self.weights_by_layer])
        return Stack(
            name=self.name,
            query_text=self.query_text.at_word_level(),
            key_text=self.key_text.at_word_level(),
            layers=self.layers,
            weights_by_layer=tuple(pooled),
            level="word",
            why_missing=Message("notice.missing.word_level"),
        )

    def why(self, what: str) -> Message:
        """Why something is missing."""
        if not self.why_missing:
            return Message("notice.missing.not_kept", name=what)
        return Message.of(self.why_missing).replacing("{{", "{").replacing("}}", "}").replacing("{name}", what)

    def check_has(self, what: str) -> None:
        """Refuse a question about arrays that were not kept."""
        if not self.has(what):
            raise TraceError(Message("refusal.nothing_kept", what=what, why=self.why(what)))


# ---- From arrays of NumPy, torch, JAX or TensorFlow


#: How far a row may sum above 1: what half precision loses.
TOLERANCE = 0.01


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
        why_missing=Message("notice.missing.not_given", name="{name}"),
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
