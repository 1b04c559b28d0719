"""The part of a model that attention passes through: passes that record attention do not pay for the head on top of it."""

from __future__ import annotations

import logging
from collections.abc import Mapping

import torch
from transformers import PreTrainedModel

from eyeline.capture.layout import Layout
from eyeline.capture.opening.tiny_pass import lean_pass
from eyeline.capture.recorder import Call, recording

log = logging.getLogger("eyeline")


def body_of(model: PreTrainedModel, layout: Layout, tiny: Mapping[str, torch.Tensor]) -> PreTrainedModel:
    """The model without its head, where it gives the same attention on the tiny input; otherwise the model itself."""
    body = model.base_model
    if body is model or not isinstance(body, PreTrainedModel):
        return model
    try:
        same = _same_calls(model, body, tiny) if layout.recorded else _same_reports(body, layout, tiny)
    except Exception as error:  # noqa: BLE001 - any model's code runs here, and the whole model can be run instead
        log.debug("%s runs only with its head: %s", type(model).__name__, error)
        return model
    return body if same else model


def _same_calls(model: PreTrainedModel, body: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> bool:
    calls: dict[bool, list[torch.Tensor]] = {}
    for whole, part in ((True, model), (False, body)):
        weights = calls.setdefault(whole, [])

        def keep(call: Call, weights: list[torch.Tensor] = weights) -> None:
            weights.append(call.weights)

        with torch.no_grad(), recording(keep):
            part(**tiny, **lean_pass(part))
    return len(calls[True]) == len(calls[False]) and all(map(torch.equal, calls[True], calls[False]))


def _same_reports(body: PreTrainedModel, layout: Layout, tiny: Mapping[str, torch.Tensor]) -> bool:
    with torch.no_grad():
        output = body(**tiny, **lean_pass(body), output_attentions=True)
    return all(output.get(name) for name in layout.outputs.values())
