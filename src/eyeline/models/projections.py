"""The projections inside a model's attention as matrices, and what enters them for a text."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch

from eyeline.capture.layer import LayerAttention
from eyeline.capture.projections.find import find_projections
from eyeline.capture.projections.record import LayerKey, Projections
from eyeline.capture.projections.varied_inputs import varied_inputs
from eyeline.capture.projections.watch import watching_inputs
from eyeline.errors import ModelError
from eyeline.models.model import Model

#: The projection whose input is meant. In cross attention the three have different inputs.
Side = Literal["query", "key", "value"]


def projections(model: Model) -> dict[LayerKey, Projections]:
    """The projections of every attention module, by stack and layer: {("encoder", 0): Projections(…), …}.

    They are found by measurement: one short pass is followed, and a module counts as the projection whose numbers are the recorded ones.
    """
    if not model.layout.recorded:
        raise ModelError(f"The projections of {model.name} cannot be found: {model.layout.why_weights_only}.")
    with model.evaluation.for_a_pass():
        return find_projections(model.hf, model.layout, varied_inputs(model.hf, model.tokenizer))


@contextmanager
def watching_layer_inputs(
    model: Model, known: dict[LayerKey, Projections], side: Side
) -> Iterator[Callable[[LayerAttention], torch.Tensor | None]]:
    """Within this block, what entered the projection of a layer, [batch, token, hidden]: ask for it while the layer is received."""
    parts = {layer: getattr(record, side) for layer, record in known.items()}
    modules = {layer: part.module for layer, part in parts.items() if part is not None}
    with watching_inputs(model.hf, modules) as latest:
        yield lambda layer: latest((layer.stack, layer.layer)) if (layer.stack, layer.layer) in modules else None
