"""The attention of one tower of a model on one text: an array for each layer. Arrays of any source become one, checked before use."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import STACKS
from eyeline.mathematics import head_outputs, pool_to_words
from eyeline.messages import Message
from eyeline.text.tokenized import TokenizedText

Layers = Sequence[np.ndarray]


@dataclass(frozen=True, eq=False)
class HalfLayers(Sequence[np.ndarray]):
    """The arrays of a stack in 16 bits, one for each layer. A layer is raised to single precision when it is read, which changes no number.

    kept   of float16, or of uint16: the bits of bfloat16, which NumPy does not have
    """

    kept: tuple[np.ndarray, ...]

    def __post_init__(self) -> None:
        kinds = {array.dtype for array in self.kept}
        if len(kinds) > 1 or not kinds <= {np.dtype(np.float16), np.dtype(np.uint16)}:
            raise TraceError(
                f"Layers in 16 bits, of {', '.join(sorted(map(str, kinds)))}.", "All float16, or all the bits of bfloat16 as uint16."
            )

    def __len__(self) -> int:
        return len(self.kept)

    def __getitem__(self, index: Any) -> Any:
        return HalfLayers(self.kept[index]) if isinstance(index, slice) else single_precision(self.kept[index])

    @property
    def precision(self) -> str:
        """float16 or bfloat16."""
        return "bfloat16" if self.kept and self.kept[0].dtype == np.uint16 else "float16"


def single_precision(kept: np.ndarray) -> np.ndarray:
    """An array as it is kept, as numbers: float16, and the bits of bfloat16 (uint16), become float32; others stay.

    >>> single_precision(np.array([0x3F80, 0xC020], dtype=np.uint16))
    array([ 1. , -2.5], dtype=float32)
    """
    if kept.dtype == np.uint16:
        return (kept.astype(np.uint32) << 16).view(np.float32)
    return kept.astype(np.float32) if kept.dtype == np.float16 else kept


def as_kept(layers: Layers) -> tuple[np.ndarray, ...]:
    """The arrays in memory, in 16 bits or not."""
    return layers.kept if isinstance(layers, HalfLayers) else tuple(layers)


#: How the learned sink is shown among the keys.
SINK_KEY = "[sink]"


@dataclass(frozen=True)
class Stack:
    """One tower of attention (encoder, decoder or cross), a NumPy array for each layer that was kept.

    layers       the layer numbers in the model, zero-based
    heads        the numbers of the heads that were kept, the same in every layer; empty: all. Each has keys and values of its own then
    rows         the positions of the queries that were kept, in the text of the keys; empty: all. `query_text` has their tokens alone
    *_by_layer   weights [head, query, key] · queries [head, query, dim] · keys, values [key head, key, dim];
                 mask [query, key], True where a query may look (None: everywhere) · bias [head, query, key] or None ·
                 gates [head, query, dim], which the model multiplies what heads write with, or None (few models have them).
                 An empty tuple: not kept. In 16 bits (`HalfLayers`) where the model computes in half precision: a layer is raised
                 to single precision when it is read
    scales       what q·k is multiplied with, one number per layer
    why_missing  why there are no other arrays, with {name} for the name of what is missing; empty: they were not kept
    plain        whether softmax(q·kᵀ·scale + mask + bias) is all that is computed (no softcap, no sink)
    sink         whether a learned sink takes what rows lack to 1 (gpt-oss)
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
    heads: tuple[int, ...] = ()
    rows: tuple[int, ...] = ()
    sink: bool = False

    def __post_init__(self) -> None:
        if self.name not in STACKS:
            raise TraceError(f"A stack named {self.name!r}.", f"Choices: {', '.join(STACKS)}.")
        n_query, n_key = len(self.query_text), len(self.key_text)
        for what, rows in (("weights", n_query), ("queries", n_query), ("keys", n_key), ("values", n_key)):
            arrays: Layers = getattr(self, f"{what}_by_layer")
            if arrays and len(arrays) != len(self.layers):
                raise TraceError(f"{len(self.layers)} layers, but {what} of {len(arrays)}.", "Give an array for each layer.")
            for layer, array in zip(self.layers, as_kept(arrays), strict=False):
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
        if isinstance(arrays, HalfLayers):
            return self._raised(what, arrays)
        check_same_shape(what, arrays)
        block = stacked(arrays)
        # From here on the layers are views of the one block, so that the next question costs nothing and nothing is held twice.
        if arrays[0].base is not block:
            object.__setattr__(self, f"{what}_by_layer", tuple(block))
        return block

    def _raised(self, what: str, arrays: HalfLayers) -> np.ndarray:
        """All layers in single precision, twice the memory of what is kept."""
        need, free = 2 * sum(array.nbytes for array in arrays.kept), free_memory()
        if free is not None and need > free:
            raise TraceError(
                f"The {what} of all layers need {need / 1e9:.1f} GB in single precision, and {free / 1e9:.1f} GB are free.",
                f"Read one layer at a time: stack.{what}_by_layer[0].",
            )
        check_same_shape(what, arrays.kept)
        raised = np.empty((len(arrays), *arrays.kept[0].shape), dtype=np.float32)
        for layer, array in zip(raised, arrays.kept, strict=True):
            layer[...] = single_precision(array)
        return raised

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
        if self.rows:
            raise TraceError(
                f"This trace holds {len(self.rows)} of {len(self.key_text)} queries: what a head writes at the others is not known.",
                "Record it without rows=….",
            )
        layer_index = self.layers.index(layer)
        weights, values = (as_kept(arrays)[layer_index] for arrays in (self.weights_by_layer, self.values_by_layer))
        index = self.index_of_head(head, len(weights), layer)
        key_head = index * len(values) // len(weights)
        output: np.ndarray = single_precision(weights[index]) @ single_precision(values[key_head])
        gates = self.gates_by_layer[layer_index] if self.gates_by_layer else None  # [head, query, dim]
        return output if gates is None else output * gates[index]

    def index_of_head(self, head: int, count: int, layer: int) -> int:
        """Where the arrays of a layer, of `count` heads, have the head of this number."""
        kept = self.heads or range(count)
        if head not in kept:
            which = f"heads {', '.join(map(str, self.heads))}" if self.heads else f"{count} heads, 0 to {count - 1}"
            raise TraceError(f"Head {head} is not in layer {layer}.", f"It has {which}.")
        return kept.index(head)

    @property
    def n_heads(self) -> int:
        """Query heads in a layer (of the first, where layers differ)."""
        return next(len(as_kept(arrays)[0]) for arrays in (self.weights_by_layer, self.queries_by_layer) if arrays)

    @property
    def n_key_heads(self) -> int:
        """Key heads in a layer: as many as heads, or fewer where queries share keys."""
        arrays = self.keys_by_layer or self.values_by_layer
        return len(as_kept(arrays)[0]) if arrays else self.n_heads

    def has(self, what: str) -> bool:
        """Whether weights, queries, keys or values were kept."""
        return bool(getattr(self, f"{what}_by_layer"))

    def words(self) -> Stack:
        """The same attention between words: summed over a word's pieces as keys, averaged over them as queries."""
        if self.level == "word":
            return self
        self.check_has("weights")
        query_groups, key_groups = self.query_text.word_groups, self.key_text.word_groups
        pooled = np.stack([pool_to_words(w, query_groups, key_groups) for w in self.weights_by_layer])  # one layer is raised at a time
        return Stack(
            name=self.name,
            query_text=self.query_text.at_word_level(),
            key_text=self.key_text.at_word_level(),
            layers=self.layers,
            weights_by_layer=tuple(pooled),
            level="word",
            why_missing=Message("notice.missing.word_level"),
            sink=self.sink,
            heads=self.heads,
        )

    def with_sink(self) -> Stack:
        """The same with the learned sink as one more key, the last; without queries, keys and values. Itself where there is no sink."""
        if not self.sink:
            return self
        weights = tuple(np.concatenate([w, (1 - w.sum(-1, keepdims=True)).clip(0)], -1) for w in self.weights_by_layer)
        masks = tuple(None if m is None else np.concatenate([m, np.ones_like(m[:, :1])], -1) for m in self.mask_by_layer)
        return Stack(
            name=self.name,
            query_text=self.query_text,
            key_text=self.key_text.with_last(SINK_KEY),
            layers=self.layers,
            weights_by_layer=weights,
            mask_by_layer=masks,
            level=self.level,
            heads=self.heads,
            rows=self.rows,
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


def free_memory() -> int | None:
    """Bytes of memory that are available, on Linux; None elsewhere."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
    except OSError:
        return None
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable")), None)


def stacked(arrays: Sequence[Any]) -> np.ndarray:
    """Arrays of one shape as one: the block that all of them are views of, where there is one."""
    base = arrays[0].base
    one_block = isinstance(base, np.ndarray) and base.shape == (len(arrays), *arrays[0].shape) and base.dtype == arrays[0].dtype
    return base if one_block and all(array.base is base for array in arrays) else np.stack(arrays)


def check_same_shape(what: str, arrays: Layers) -> None:
    """Refuse layers that cannot be one array."""
    if len({array.shape for array in arrays}) > 1:
        raise TraceError(
            f"The {what} differ in shape from layer to layer: {', '.join(str(list(a.shape)) for a in arrays)}.",
            f"Read them layer by layer: stack.{what}_by_layer.",
        )


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
