"""The layout of a model, settled on the quickest of the small inputs that it takes, and the part that attention passes through."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.layout import Layout, settle_layout
from eyeline.capture.model_state import restored_on_failure
from eyeline.capture.opening.body import body_of
from eyeline.capture.opening.short_audio import short_audio
from eyeline.capture.opening.tiny_inputs import tiny_candidates
from eyeline.errors import ModelError


def settled(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> tuple[Layout, PreTrainedModel]:
    """Which call is which layer, and the model without its head.

    An audio model is first tried with a short input. Where no input works, the error is that of the last: an input of the model's own size.
    """
    with short_audio(model) as shortened:
        if shortened:
            with suppress(ModelError):
                return _first_settled(model, tokenizer)
    return _first_settled(model, tokenizer)


def _first_settled(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> tuple[Layout, PreTrainedModel]:
    *others, last = tiny_candidates(model, tokenizer)
    for tiny in others:
        with suppress(ModelError), restored_on_failure(model):  # a pass may change a model: Swin keeps the window of a small image
            return _layout_and_body(model, tiny)
    return _layout_and_body(model, last)


def _layout_and_body(model: PreTrainedModel, tiny: Mapping[str, torch.Tensor]) -> tuple[Layout, PreTrainedModel]:
    layout = settle_layout(model, tiny)
    return layout, body_of(model, layout, tiny)
