"""The layout of a model, settled on the quickest of the small inputs that it takes."""

from __future__ import annotations

from contextlib import suppress

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.capture.layout import Layout, settle_layout
from eyeline.capture.model_state import restored_on_failure
from eyeline.capture.opening.short_audio import short_audio
from eyeline.capture.opening.tiny_inputs import tiny_candidates
from eyeline.errors import ModelError


def settled(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> Layout:
    """Which call is which layer. An audio model is first tried with a short input. Where no input works, the error is that of the last: an
    input of the model's own size."""
    with short_audio(model) as shortened:
        if shortened:
            with suppress(ModelError):
                return _first_settled(model, tokenizer)
    return _first_settled(model, tokenizer)


def _first_settled(model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase | None) -> Layout:
    *others, last = tiny_candidates(model, tokenizer)
    for tiny in others:
        with suppress(ModelError), restored_on_failure(model):  # a pass may change a model: Swin keeps the window of a small image
            return settle_layout(model, tiny)
    return settle_layout(model, last)
