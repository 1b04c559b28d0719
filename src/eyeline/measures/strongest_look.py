"""Where a view opens when no head is given: at the head and query with the strongest look at a distant word."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

#: Only keys at least this many tokens away count: attention to the token itself or to a neighbour says little.
LEAST_DISTANCE = 2
#: A key that gets more than this share of a head's attention, from all queries together, is a sink of that head.
SINK_SHARE = 0.3


@dataclass(frozen=True)
class StrongestLook:
    """Indices of a layer, a head, a query and a key; the weight of this look. Without any look the key is None and the weight 0."""

    layer: int
    head: int
    query: int
    key: int | None
    weight: float


def strongest_look(
    maps: Sequence[np.ndarray],
    query_words: np.ndarray,
    key_words: np.ndarray,
    *,
    one_text: bool = True,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> StrongestLook:
    """The head with the strongest look from a word to a word that is neither beside it nor looked at by nearly every token.

    With s(q, k) = α(q, k) where q and k are words, at least two tokens apart, and k gets at most 0.3 of the head's attention, else 0:

        head = argmax_h max_{q, k} s_h(q, k)        query = the q of that maximum        key = its k

    Without such a look: the first head and the last word.

    maps                     for each layer [head, query, key]
    query_words, key_words   [query], [key]: True for words, False for special tokens and punctuation
    one_text                 queries and keys are the same tokens, so that some of them are neighbours
    layers, heads            indices of those to choose from (all)

    >>> look = np.array([[0.2, 0.2, 0.6], [0.5, 0.5, 0.0], [0.1, 0.8, 0.1]])
    >>> strongest_look([look[None]], np.ones(3, bool), np.ones(3, bool))
    StrongestLook(layer=0, head=0, query=0, key=2, weight=0.6)
    """
    distance = np.abs(np.arange(len(query_words))[:, None] - np.arange(len(key_words)))  # [query, key]
    left_out = ((distance < LEAST_DISTANCE) & one_text) | ~key_words[None] | ~query_words[:, None]
    last = int(np.flatnonzero(query_words)[-1]) if query_words.any() else 0
    best = StrongestLook(layers[0] if layers else 0, heads[0] if heads else 0, last, None, 0.0)
    for layer in range(len(maps)) if layers is None else layers:
        weights = np.nan_to_num(maps[layer])  # [head, query, key]
        for head in range(len(weights)) if heads is None else heads:
            sink = weights[head].mean(axis=0) > SINK_SHARE  # [key]
            strength = np.where(left_out | sink, 0, weights[head])
            query, key = (int(position) for position in np.unravel_index(strength.argmax(), strength.shape))
            if strength[query, key] > best.weight:
                best = StrongestLook(layer, head, query, key, float(strength[query, key]))
    return best
