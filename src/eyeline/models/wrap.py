"""Look inside a transformers model that is already in memory."""

from __future__ import annotations

from pathlib import Path
from typing import Any

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

    From here on the model computes its attention through eyeline's function: the same numbers as its own eager attention. If it cannot be
    opened, it is left as it was. Passes are made in evaluation mode; afterwards the model is in the mode it was in before.
    PEFT models and models from `torch.compile` are opened as the transformers model within them, adapters included.
    """
    name = name or getattr(getattr(hf, "config", None), "name_or_path", None)
    within = _transformers_model(hf)
    return Model(within, tokenizer, name=name or type(within).__name__, cache=as_cache(cache))


def _transformers_model(hf: Any) -> PreTrainedModel:
    """The transformers model itself, of what PEFT or torch.compile has put around it."""
    hf = getattr(hf, "_orig_mod", hf)  # torch.compile
    if hasattr(hf, "get_base_model") and hasattr(hf, "peft_config"):
        if getattr(hf.active_peft_config, "is_prompt_learning", False):
            raise ModelError(
                f"A PEFT model with {hf.active_peft_config.peft_type} adapters.",
                "They put virtual tokens before the text: no words belong to them. Adapters within the layers (LoRA …) can be opened.",
            )
        hf = hf.get_base_model()
    if not isinstance(hf, PreTrainedModel):
        raise ModelError(f"A {type(hf).__name__} where a transformers model was expected.", "el.load opens a model by its name.")
    return hf


def as_cache(cache: bool | str | Path | TraceCache) -> TraceCache | None:
    """The cache that is meant: the default one for True, a folder's, one of your own, or none for False."""
    if isinstance(cache, TraceCache):
        return cache
    if isinstance(cache, bool):
        return TraceCache() if cache else None
    return TraceCache(cache)
