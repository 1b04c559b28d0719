"""What the keys of every layer are computed from: the vectors that enter the layer, and the projection to keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import torch

from eyeline.capture.collect import Sides
from eyeline.capture.layer import LayerAttention, Receive
from eyeline.capture.projections.record import LayerKey, Projection
from eyeline.errors import Advice, ModelError
from eyeline.models.model import Model
from eyeline.models.projections import projections, watching_layer_inputs


@dataclass(frozen=True)
class SharedInputs:
    """Of one stack and all texts: keys = weight · inputs + bias, then rotated or normalised where the model does that.

    inputs    [layer, key, hidden]: what enters each layer
    weights   of each layer [head, dim, hidden], one for each head that was chosen
    biases    of each layer [head, dim], or None
    rotary    whether any layer rotates keys by their position
    norm      whether any layer normalises keys
    """

    inputs: np.ndarray
    weights: tuple[np.ndarray, ...]
    biases: tuple[np.ndarray | None, ...]
    rotary: bool
    norm: bool


class InputKeeper:
    """Gives what enters the layers of a model, while batches of texts go through it."""

    def __init__(self, model: Model, layers: Mapping[str, Sequence[int]]) -> None:
        self._model = model
        self._known = projections(model)
        self._chosen = {(stack, layer) for stack in layers for layer in layers[stack]}
        for stack, layer in sorted(self._chosen):
            self._key(stack, layer)

    def _key(self, stack: str, layer: int) -> Projection:
        known = self._known[stack, layer]
        if known.key is None:
            raise ModelError(
                f"No shared space of {self._model.name}: layer {layer} of the {stack}: {known.missing['key']}.",
                Advice(
                    "Each head can have a space of its own: of='queries-keys'.",
                    "Each head can have a space of its own: leave out --shared.",
                    "Each head can have a space of its own: choose queries and keys of each head.",
                ),
            )
        return known.key

    def stream(self, sides: Sequence[Sides], receive: Receive) -> list[dict[LayerKey, np.ndarray]]:
        """One batch of texts through the model; gives what enters the chosen layers, for each text: [key, hidden]"""
        kept: list[dict[LayerKey, np.ndarray]] = [{} for _ in sides]
        with watching_layer_inputs(self._model, self._known, "key") as entered:

            def receive_and_keep(layer: LayerAttention) -> None:
                receive(layer)
                key, vectors = (layer.stack, layer.layer), entered(layer)
                if key in self._chosen and vectors is not None:
                    for position, inputs in enumerate(kept):
                        inputs[key] = _copied(vectors[position, : layer.n_keys[position]])

            self._model.stream_layers(sides, receive_and_keep)
        return kept

    def inputs_of(
        self, texts: Sequence[Mapping[LayerKey, np.ndarray]], stack: str, layers: Sequence[int], heads: Sequence[int]
    ) -> SharedInputs:
        """All texts of a stack, one after the other."""
        projections = [self._key(stack, layer) for layer in layers]
        counts = self._model.layout.heads_by_layer(stack)
        shared = [[head * len(part.weight) // counts[layer] for head in heads] for layer, part in zip(layers, projections, strict=True)]
        return SharedInputs(
            inputs=np.stack([np.concatenate([inputs[stack, layer] for inputs in texts]) for layer in layers]),
            weights=tuple(part.weight[chosen] for part, chosen in zip(projections, shared, strict=True)),
            biases=tuple(None if part.bias is None else part.bias[chosen] for part, chosen in zip(projections, shared, strict=True)),
            rotary=any(self._known[stack, layer].rotary for layer in layers),
            norm=any(part.norm for part in projections),
        )


def _copied(vectors: torch.Tensor) -> np.ndarray:
    array: np.ndarray = vectors.float().cpu().numpy().copy()
    return array
