"""Two heads of one text that teach what attention is not: one that looks important and is not, and one that is."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eyeline.capture.answer.layer_effects import LayerEffects
from eyeline.capture.trace import Trace
from eyeline.errors import TraceError
from eyeline.heads import HeadRef

#: A head whose absence moves the answer by less than this share of the largest effect counts as one that does not matter.
SMALL = 0.1


@dataclass(frozen=True)
class HeadLook:
    """A head, what it attends to most from the position of the answer, and the probability of the answer with and without it."""

    head: HeadRef
    token: str
    weight: float
    before: float
    after: float


def sharpest_and_most_effective(trace: Trace, effects: Sequence[LayerEffects]) -> tuple[HeadLook, HeadLook]:
    """The head that looks most sharply from the answer's position at another word and hardly matters; and the head that matters most.

    effects   what `model.head_effects(trace)` gives
    """
    if trace.prediction is None or trace.prediction.positions[0] is None:
        raise TraceError("The model answers at no token of this text.", "Use a text with a mask, or a decoder.")
    position, before = trace.prediction.positions[0], trace.prediction.probabilities[0]
    text = trace.text
    words = [i for i in range(len(text)) if not text.special[i] and i != position]
    without = np.array([layer["probabilities"] for layer in effects])  # [layer, head]
    changes = np.abs(without - before)
    looks = trace.weights[:, :, position][:, :, words]  # [layer, head, word]
    sharp = np.where(changes < SMALL * changes.max(), looks.max(-1), -1.0)

    def of(index: tuple[int, int]) -> HeadLook:
        key = int(looks[index].argmax())
        head = HeadRef("", trace.layers[index[0]], index[1])
        return HeadLook(head, text.tokens[words[key]], float(looks[index][key]), before, float(without[index]))

    shape = changes.shape
    return of(_indices(sharp.argmax(), shape)), of(_indices((before - without).argmax(), shape))


def _indices(flat: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    layer, head = np.unravel_index(int(flat), shape)
    return int(layer), int(head)
