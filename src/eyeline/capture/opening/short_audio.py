"""Models that read audio of one fixed length, opened with a shorter one: Whisper's 3,000 frames would take seconds."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from torch import nn
from transformers import PretrainedConfig, PreTrainedModel

#: Positions of the encoder in the tiny pass; another number than those of the decoder, so that their maps differ in shape.
SHORT_POSITIONS = 16


@contextmanager
def short_audio(model: PreTrainedModel) -> Iterator[bool]:
    """Within this block the encoder counts SHORT_POSITIONS positions, the first of its own. Gives whether there was anything to shorten.

    Two numbers are changed and put back: how many positions the configuration names, and how many the table of positions says it has. No
    weight is touched. The number of layers and heads, and which call is which layer, do not depend on the length.
    """
    encoders = [module for module in model.modules() if _has_fixed_length(module)]
    saved: list[tuple[Any, str, int]] = []
    for encoder in encoders:
        for owner, name in ((encoder.embed_positions, "num_embeddings"), (encoder.config, "max_source_positions")):
            saved.append((owner, name, getattr(owner, name)))
    for owner, name, _ in saved:
        setattr(owner, name, SHORT_POSITIONS)
    try:
        yield bool(encoders)
    finally:
        for owner, name, length in saved:
            setattr(owner, name, length)


def _has_fixed_length(module: nn.Module) -> bool:
    """Whether it is an encoder of sound with a table of positions, all of which it reads each time."""
    config, table = getattr(module, "config", None), getattr(module, "embed_positions", None)
    return (
        isinstance(config, PretrainedConfig)
        and type(table) is nn.Embedding
        and getattr(config, "num_mel_bins", None) is not None
        and getattr(config, "max_source_positions", None) == table.num_embeddings > SHORT_POSITIONS
    )
