"""The words of a text that a masked language model could complete: each replaced by the mask."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.models.model import Model
from eyeline.text.segment import segment


@dataclass(frozen=True)
class MaskedWord:
    """A word, and the text in which the mask stands for it."""

    word: str
    text: str


def words_to_mask(model: Model, text: str) -> list[MaskedWord]:
    """Every word of a text masked alone; nothing for a model that answers without a mask, and for a text that has one."""
    mask = model.mask_token
    if mask is None or mask in text:
        return []
    spans = [(start, end) for start, end in segment(text) if text[start:end].isalnum()]
    return [MaskedWord(text[start:end], text[:start] + mask + text[end:]) for start, end in spans]
