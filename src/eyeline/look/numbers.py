"""Single numbers of one head of a trace, for the lesson: a weight by its tokens, the arithmetic behind a query, what a token receives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from eyeline.errors import TraceError
from eyeline.heads import HeadRef
from eyeline.look.answer import LayerEffects
from eyeline.look.trace import Trace
from eyeline.mathematics import attention_row


@dataclass(frozen=True)
class KeyNumbers:
    """From one query to one key: the dot product, that times the scale, the softmax, and the share of the value that is taken."""

    token: str
    dot: float
    score: float
    weight: float
    value: float  # the value's first number
    taken: float  # weight · value


@dataclass(frozen=True)
class Alike:
    """How alike a query and a key are: their dot product is query_length · key_length · cosine."""

    query_length: float
    key_length: float
    cosine: float


def alike(trace: Trace, layer: int, head: int, query: int, key: int) -> Alike:
    """The lengths of a query and a key of one head, and the cosine of the angle between them."""
    stack = trace.only
    index = stack.layers.index(layer)
    queries, keys = stack.queries_by_layer[index], stack.keys_by_layer[index]  # [head, token, dim]
    q, k = queries[head, query], keys[head * len(keys) // len(queries), key]
    lengths = float(np.linalg.norm(q)), float(np.linalg.norm(k))
    return Alike(*lengths, float(q @ k) / (lengths[0] * lengths[1]))


@dataclass(frozen=True)
class SpecialAndWords:
    """What a head gives to the first and the last token of a text ([CLS] and [SEP]), and how long values are.

    to_first, to_last  mean attention from all queries
    special_length     the longer of the two value vectors of the first and the last token
    word_length        the mean length of the value vectors of the tokens between them
    """

    to_first: float
    to_last: float
    special_length: float
    word_length: float


def pair_weight(trace: Trace, layer: int, head: int, query: str, key: str) -> float:
    """The attention from the last token `query` to the first token `key`."""
    tokens = trace.text.tokens
    return float(trace.weights[layer, head, len(tokens) - 1 - tokens[::-1].index(query), tokens.index(key)])


def weights_on(trace: Trace, layer: int, head: int, key: str) -> list[float]:
    """The attention that each query gives to the first token `key`."""
    return [float(weight) for weight in trace.weights[layer, head, :, trace.text.tokens.index(key)]]


def key_numbers(trace: Trace, layer: int, head: int, query: int) -> list[KeyNumbers]:
    """The arithmetic behind one query, key by key."""
    row = attention_row(trace.queries[layer, head, query], trace.keys[layer, head], trace.scales[layer])
    first = trace.values[layer, head, :, 0]  # [key]
    return [
        KeyNumbers(token, float(dot), float(score), float(weight), float(value), float(weight * value))
        for token, dot, score, weight, value in zip(trace.text.tokens, row.dots, row.scores, row.weights, first, strict=True)
    ]


def special_and_words(trace: Trace, layer: int, head: int) -> SpecialAndWords:
    """The first and the last token beside the words between them."""
    given = trace.weights[layer, head].mean(axis=0)  # [key]
    lengths = np.linalg.norm(trace.values[layer, head], axis=-1)  # [key]
    return SpecialAndWords(float(given[0]), float(given[-1]), float(max(lengths[0], lengths[-1])), float(lengths[1:-1].mean()))


def received_by_last(trace: Trace, layers: Sequence[int]) -> float:
    """The mean attention that the last token receives, over all heads and queries of these layers."""
    return float(trace.weights[list(layers), :, :, -1].mean())


# ---- Two heads that teach what attention is not: one that looks important and is not, and one that is


#: A head whose absence moves the answer by less than this share of the largest effect counts as one that does not matter.
SMALL_EFFECT = 0.1


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
    sharp = np.where(changes < SMALL_EFFECT * changes.max(), looks.max(-1), -1.0)

    def of(index: tuple[int, int]) -> HeadLook:
        key = int(looks[index].argmax())
        head = HeadRef("", trace.layers[index[0]], index[1])
        return HeadLook(head, text.tokens[words[key]], float(looks[index][key]), before, float(without[index]))

    shape = changes.shape
    return of(_indices(sharp.argmax(), shape)), of(_indices((before - without).argmax(), shape))


def _indices(flat: Any, shape: tuple[int, ...]) -> tuple[int, int]:
    layer, head = np.unravel_index(int(flat), shape)
    return int(layer), int(head)
