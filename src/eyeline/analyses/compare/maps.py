"""The attention of two models on one text, over the same queries and keys."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from eyeline.capture.collect import Collector, Sides
from eyeline.capture.selection import check_layers
from eyeline.capture.stack import Stack
from eyeline.measures.pooling import pool_to_words
from eyeline.models.model import Model
from eyeline.text.tokenized import TokenizedText


def same_tokens(first: Sides, second: Sides) -> bool:
    """Whether two models read a text as the same tokens."""

    def tokens_of(sides: Sides) -> tuple[Any, ...]:
        return sides.source.tokens, sides.source.ids, sides.target and sides.target.tokens

    return tokens_of(first) == tokens_of(second)


def weights_of(model: Model, sides: Sequence[Sides], chosen: dict[str, tuple[int, ...]]) -> list[dict[str, Stack]]:
    """The attention of each text, by stack, of the chosen layers."""
    layers = {name: chosen.get(name, ()) for name in check_layers(model.layout, None)}
    stacks: dict[int, dict[str, Stack]] = {}
    for batch in model.in_batches(sides):
        collector = Collector(model.layout, layers, ("weights",))
        model.stream_layers([sides[i] for i in batch], collector.receive)
        for position, i in enumerate(batch):
            stacks[i] = collector.stacks(position, sides[i])
    return [stacks[i] for i in range(len(sides))]


def aligned(first: Stack, second: Stack, level: str) -> tuple[np.ndarray, np.ndarray] | None:
    """[layer, head, query, key] of both over the same queries and keys; None where the two models find different words."""
    if level == "token":
        return first.weights, second.weights
    texts = [(stack.query_text, stack.key_text) for stack in (first, second)]
    words = [tuple(_words(text) for text in pair) for pair in texts]
    if words[0] != words[1] or not words[0][0] or not words[0][1]:
        return None
    a, b = (_between_words(stack) for stack in (first, second))
    return a, b


def _words(text: TokenizedText) -> list[str]:
    level = text.at_word_level()
    return [token for token, special in zip(level.tokens, level.special, strict=True) if not special]


def _between_words(stack: Stack) -> np.ndarray:
    """[layer, head, word, word + 1]: the last key is all special tokens together."""
    pooled = pool_to_words(stack.weights, stack.query_text.word_groups, stack.key_text.word_groups)
    queries = ~np.array(stack.query_text.at_word_level().special)
    keys = ~np.array(stack.key_text.at_word_level().special)
    rows = pooled[..., queries, :]
    return np.concatenate([rows[..., keys], rows[..., ~keys].sum(-1, keepdims=True)], -1)
