"""Single numbers of one head of a trace: a weight by its two tokens, the arithmetic behind a query, what a token receives."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from eyeline.capture.trace import Trace
from eyeline.measures.dot_product import attention_row


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
