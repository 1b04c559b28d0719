"""The projections inside a model's attention as matrices, and what enters them for a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Literal

import numpy as np
import torch

from eyeline.capture.collect import Sides
from eyeline.capture.layer import LayerAttention
from eyeline.capture.projections.find import find_projections
from eyeline.capture.projections.record import LayerKey, Projections
from eyeline.capture.projections.varied_inputs import varied_inputs
from eyeline.capture.projections.watch import watching_inputs
from eyeline.errors import ModelError
from eyeline.models.model import Model

#: Whose input is meant: that of the keys' projection, of the values' or of the queries'. They differ in cross attention.
Side = Literal["query", "key", "value"]
ReceiveWithInputs = Callable[[LayerAttention, torch.Tensor], None]


def projections(model: Model) -> dict[LayerKey, Projections]:
    """The projections of every attention module, by stack and layer: {("encoder", 0): Projections(…), …}.

    They are found by measurement: one short pass is followed, and a module counts as the projection whose numbers are the recorded ones.
    """
    if not model.layout.recorded:
        raise ModelError(f"The projections of {model.name} cannot be found: {model.layout.why_weights_only}.")
    with model.evaluation.for_a_pass():
        return find_projections(model.hf, model.layout, varied_inputs(model.hf, model.tokenizer))


def layer_inputs(
    model: Model,
    text: str | tuple[str, str] | list[str],
    *,
    side: Side = "key",
    known: dict[LayerKey, Projections] | None = None,
    truncate: bool = False,
) -> dict[LayerKey, np.ndarray]:
    """What enters the projections of each layer for one text, behind the layer's norm where the norm comes first: [token, hidden].

    Layers whose projection is not known are left out. `known`: the model's projections, if they were found before.
    """
    read = model.read(text, truncate=truncate)
    inputs: dict[LayerKey, np.ndarray] = {}

    def keep(layer: LayerAttention, vectors: torch.Tensor) -> None:
        inputs[layer.stack, layer.layer] = vectors[0].float().cpu().numpy().copy()

    stream_with_inputs(model, [read], keep, side=side, known=known)
    return inputs


def stream_with_inputs(
    model: Model,
    sides: Sequence[Sides],
    receive: ReceiveWithInputs,
    *,
    side: Side = "key",
    known: dict[LayerKey, Projections] | None = None,
) -> None:
    """One forward pass over one batch; `receive` gets each layer with known projections, and what entered them: [batch, token, hidden]."""
    known = projections(model) if known is None else known
    with watching_layer_inputs(model, known, side) as entered:

        def receive_layer(layer: LayerAttention) -> None:
            vectors = entered(layer)
            if vectors is not None:
                receive(layer, vectors)

        model.stream_layers(sides, receive_layer)


@contextmanager
def watching_layer_inputs(
    model: Model, known: dict[LayerKey, Projections], side: Side
) -> Iterator[Callable[[LayerAttention], torch.Tensor | None]]:
    """Within this block, what entered the projection of a layer, [batch, token, hidden]: ask for it while the layer is received."""
    parts = {layer: getattr(record, side) for layer, record in known.items()}
    modules = {layer: part.module for layer, part in parts.items() if part is not None}
    with watching_inputs(model.hf, modules) as latest:
        yield lambda layer: latest((layer.stack, layer.layer)) if (layer.stack, layer.layer) in modules else None
