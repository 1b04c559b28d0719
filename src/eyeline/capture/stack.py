"""The attention of one tower of a model on one text: an array for each layer."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.errors import TraceError
from eyeline.measures.outputs import head_outputs
from eyeline.measures.pooling import pool_to_words
from eyeline.text.tokenized import TokenizedText

Layers = tuple[np.ndarray, ...]

STACKS = ("encoder", "decoder", "cross")


@dataclass(frozen=True)
class Stack:
    """One tower of attention (encoder, decoder or cross), a NumPy array for each layer that was kept.

    layers       the layer numbers in the model, zero-based
    *_by_layer   weights [head, query, key] · queries [head, query, dim] · keys, values [key head, key, dim];
                 mask [query, key], True where a query may look (None: everywhere) · bias [head, query, key] or None.
                 An empty tuple: not kept.
    scales       what q·k is multiplied with, one number per layer
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
    scales: tuple[float, ...] = ()
    plain: bool | None = None
    level: str = "token"
    why_missing: str = "it was not kept; trace again with keep={{'{name}'}} added"  # {name}: what is missing

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
        if not arrays:
            raise TraceError(f"This trace has no {what}: {self._why(what)}.")
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
        """[layer, head, query, dim]: o_i = Σ_j a_ij · v_j, what each head writes, before the output projection"""
        self._stacked_exists("weights")
        self._stacked_exists("values")
        return np.stack([head_outputs(*pair) for pair in zip(self.weights_by_layer, self.values_by_layer, strict=True)])

    def output_of(self, layer: int, head: int) -> np.ndarray:
        """[query, dim]: what one head writes. `layer` is the model's own number of it."""
        self._stacked_exists("weights")
        self._stacked_exists("values")
        index = self.layers.index(layer)
        weights, values = self.weights_by_layer[index], self.values_by_layer[index]
        if head >= len(weights):
            raise TraceError(f"This trace has no head {head} in layer {layer}.", f"It has {len(weights)} heads there.")
        output: np.ndarray = weights[head] @ values[head * len(values) // len(weights)]
        return output

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
        self._stacked_exists("weights")
        query_groups, key_groups = self.query_text.word_groups, self.key_text.word_groups
        pooled = np.stack([pool_to_words(w, query_groups, key_groups) for w in self.weights_by_layer])
        return Stack(
            name=self.name,
            query_text=self.query_text.at_word_level(),
            key_text=self.key_text.at_word_level(),
            layers=self.layers,
            weights_by_layer=tuple(pooled),
            level="word",
            why_missing="at word level only weights are defined; use the trace of tokens",
        )

    def _why(self, what: str) -> str:
        """Why something is missing. Not `str.format`: the sentence may come from a file."""
        return self.why_missing.replace("{{", "{").replace("}}", "}").replace("{name}", what)

    def _stacked_exists(self, what: str) -> None:
        if not self.has(what):
            raise TraceError(f"This trace has no {what}: {self._why(what)}.")
