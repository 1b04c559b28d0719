"""Look inside a transformers model that is already in memory."""

from __future__ import annotations

from pathlib import Path

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from eyeline.errors import ModelError
from eyeline.models.model import Model
from eyeline.models.trace_cache import TraceCache


def wrap(
    hf: PreTrainedModel,
    tokenizer: PreTrainedTokenizerBase | None = None,
    *,
    name: str | None = None,
    cache: bool | str | Path | TraceCache = False,
) -> Model:
    """Look inside a transformers model that is already in memory, such as one that has just been fine-tuned.

    From here on the model computes its attention through eyeline's function: the same numbers as its own eager attention. It is put
    into evaluation mode; call `hf.train()` before you train on.
    """
    if not isinstance(hf, PreTrainedModel):
        raise ModelError(f"A {type(hf).__name__} where a transformers model was expected.", "el.load opens a model by its name.")
    return Model(hf, tokenizer, name=name or hf.config.name_or_path or type(hf).__name__, cache=as_cache(cache))


def as_cache(cache: bool | str | Path | TraceCache) -> TraceCache | None:
    """The cache that is meant: the default one for True, a folder's, one of your own, or none for False."""
    if isinstance(cache, TraceCache):
        return cache
    if isinstance(cache, bool):
        return TraceCache() if cache else None
    return TraceCache(cache)
