"""Sentences that are drawn before a model is open: the trace of each, and what each of its heads does to the answer."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import as_file, files
from typing import Any

from eyeline.look.answer import LayerEffects
from eyeline.look.trace import Trace, open_trace

FOLDER = files("eyeline.look").joinpath("ready")


@dataclass(frozen=True)
class ReadySentence:
    """name: of its file. layer, head: the head that it opens on."""

    name: str
    model: str
    text: str
    pair: str = ""
    layer: int | None = None
    head: int | None = None

    @property
    def trace(self) -> Trace:
        """Its attention weights and the model's answer."""
        return _trace(self.name)

    @property
    def effects(self) -> list[LayerEffects]:
        """What `model.head_effects(trace)` gives; empty where the model answers nothing to this text."""
        measured: list[LayerEffects] = _effects()[self.name]
        return measured


#: The first of a model is what the app opens with.
READY = (
    ReadySentence("her", "e5-small-mlm", "Anna gave Tom a book, and he thanked [MASK].", layer=8, head=10),
    ReadySentence("tea", "e5-small-mlm", "He drank a cup of [MASK].", layer=6, head=9),
    ReadySentence("purred", "e5-small-mlm", "The cat sat on the mat.", "It purred.", layer=5, head=6),
    ReadySentence("mary", "smollm2", "When Mary and John went to the store, John gave a drink to", layer=24, head=4),
)


def ready_sentence(model: str, text: str, pair: str = "") -> ReadySentence | None:
    """The sentence with these words, if it is ready for this model.

    >>> ready_sentence("e5-small-mlm", "Anna gave Tom a book, and he thanked [MASK].").trace.prediction.label
    'her'
    """
    return next((each for each in READY if (each.model, each.text, each.pair) == (model, text, pair)), None)


@lru_cache(maxsize=len(READY))
def _trace(name: str) -> Trace:
    with as_file(FOLDER.joinpath(f"{name}.safetensors")) as path:
        return open_trace(path)


@lru_cache(maxsize=1)
def _effects() -> dict[str, Any]:
    effects: dict[str, Any] = json.loads(FOLDER.joinpath("effects.json").read_text(encoding="utf-8"))
    return effects
