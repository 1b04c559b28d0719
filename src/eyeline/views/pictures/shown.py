"""The weights and labels that a state shows, for pictures drawn in Python: what frontend/src/core/reading/reading.ts does for the page."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from eyeline.measures.pooling import pool_to_words
from eyeline.text.tokenized import TokenizedText
from eyeline.views.data import ViewData
from eyeline.words import Words, key_of

SIDE = {"a": 0, "b": 1}


@dataclass(frozen=True)
class Shown:
    """weights [head, query, key] between the tokens or words that are left in; rows and columns are their indices in the text."""

    weights: np.ndarray
    queries: list[str]
    keys: list[str]
    unit: str
    rows: list[int]
    columns: list[int]


@dataclass(frozen=True)
class HeadMap:
    """What one colour shows: a head, or several combined (head -1). weights: [query, key]."""

    head: int
    weights: np.ndarray


def shown(view: ViewData, layer: int, *, level: str | None = None, sink_layer: int | None = None) -> Shown:
    """The part of the layer at this index that the view's state shows: words or tokens, without those that are hidden.

    level        token or word; None: that of the state
    sink_layer   the index of the layer whose most attended token is hidden; None: this layer
    """
    state = view.state if level is None else {**view.state, "level": level}
    at = state.get("stack", 0)
    stack = view.spec["stacks"][at]
    weights = view.weights(at, layer, state.get("drawn", 0))  # [head, query, key]
    query_text, key_text = (text_of(view.spec["texts"][stack[side]]) for side in ("query_text", "key_text"))
    sums = weights if sink_layer is None else view.weights(at, sink_layer)
    sink = int(np.nansum(sums, axis=(0, 1)).argmax()) if state.get("hide_sink") else None
    groups = key_text.word_groups if state.get("level") == "word" else [(index,) for index in range(len(key_text))]
    if state.get("level") == "word":
        weights = pool_to_words(weights, query_text.word_groups, key_text.word_groups)
        query_text, key_text = query_text.at_word_level(), key_text.at_word_level()
    segments = state.get("segments", "all")
    sides = (None, None) if segments == "all" else (SIDE[segments[0]], SIDE[segments[1]])
    rows = left_in(query_text, state, sides[0])
    columns = [index for index in left_in(key_text, state, sides[1]) if sink is None or sink not in groups[index]]
    weights = weights[:, rows][:, :, columns]
    if state.get("renormalise"):
        sums = np.abs(weights).sum(axis=-1, keepdims=True)
        weights = np.divide(weights, sums, out=np.zeros_like(weights), where=sums > 0)
    unit = "word" if state.get("level") == "word" else "token"
    return Shown(weights, [query_text.tokens[row] for row in rows], [key_text.tokens[column] for column in columns], unit, rows, columns)


def head_maps(view: ViewData, seen: Shown) -> list[HeadMap]:
    """The maps that the state shows of its layer: one for each head, or one for all of them and of other layers."""
    state, at = view.state, view.state.get("layer", 0)
    heads = heads_of(view, len(seen.weights))
    if state.get("combine", "each") == "each" or not heads:
        return [HeadMap(head, seen.weights[head]) for head in heads]
    layers = sorted({at, *state.get("combine_layers", ())})
    every = [seen if layer == at else shown(view, layer, sink_layer=at) for layer in layers]
    chosen = np.concatenate([part.weights[[head for head in heads if head < len(part.weights)]] for part in every])
    return [HeadMap(-1, chosen.mean(axis=0) if state["combine"] == "mean" else chosen.max(axis=0))]


def drawn_quantity(view: ViewData) -> Mapping[str, Any] | None:
    """The record of the quantity that the state draws; None where it is attention."""
    quantities = view.spec.get("quantities")
    record = None if quantities is None else quantities[view.state.get("drawn", 0)]
    return None if record is None or record["method"] == "attention" else record


def quantity_title(quantity: Mapping[str, Any] | None, words: Words) -> str:
    """The name of a quantity, with the answer that it is about, as the beginning of a title; empty for attention."""
    if quantity is None:
        return ""
    answer = quantity["answer"].strip()
    lengths = "_lengths" if quantity["method"] == "decompx" and not answer else ""
    name = (
        quantity["name"]
        if words.language == "en"
        else words.messages.get(f"view.drawn_{key_of(quantity['method'])}{lengths}", quantity["name"])
    )
    return f"{name} → {answer} · " if answer else f"{name} · "


def locked_units(view: ViewData, seen: Shown) -> list[int]:
    """Rows (direction "from") or columns (direction "to") of the map that hold a locked token."""
    state = view.state
    stack = view.spec["stacks"][state.get("stack", 0)]
    side = "key_text" if state.get("direction") == "to" else "query_text"
    text = text_of(view.spec["texts"][stack[side]])
    groups = text.word_groups if seen.unit == "word" else [(index,) for index in range(len(text))]
    units = seen.columns if state.get("direction") == "to" else seen.rows
    return [index for index, unit in enumerate(units) if set(groups[unit]) & set(state.get("locked", ()))]


def text_of(record: Mapping[str, Any]) -> TokenizedText:
    """A text of the spec as a TokenizedText."""
    return TokenizedText(**{name: tuple(values) for name, values in record.items()})


def left_in(text: TokenizedText, state: Mapping[str, Any], side: int | None) -> list[int]:
    """The indices of the tokens that the state does not hide."""
    return [
        index
        for index in range(len(text))
        if not (state.get("hide_special") and text.special[index]) and side in (None, text.segments[index])
    ]


def heads_of(view: ViewData, count: int) -> list[int]:
    """The heads switched on; all where the state has no `heads`. A quantity without heads counts as one head."""
    heads = view.state.get("heads")
    if count == 1 and heads:
        return [0]
    return list(range(count)) if heads is None else [head for head in heads if head < count]
