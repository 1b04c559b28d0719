"""The numbers of every head of a captured stack, text after text: fidelity of a picture, entropy, the most attended keys, the maps."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from eyeline.analyses.space.capture import CapturedStack
from eyeline.measures.focus import entropy
from eyeline.measures.space.fidelity import Fidelity, TextPicture, fidelity
from eyeline.results.space.stack import LEVELS, TOP

#: The most bytes of whole maps that are kept.
MAPS_ROOM = 256 << 20


def stack_fidelity(stack: CapturedStack, layers: slice, queries: np.ndarray, keys: np.ndarray, *, order: bool = True) -> Fidelity:
    """The fidelity of a picture of these layers: queries [layer, head, query, dims], keys [layer, head, key, dims] → [layer, head].

    For each query, only the keys of its own text that it may see count.
    """

    def pictures() -> Iterator[TextPicture]:
        for text, weights in enumerate(stack.weights):
            rows, columns = stack.rows(text)
            visible = stack.visible[text]
            seen = None if visible is None else visible[layers][:, None]  # [layer, 1, query, key]
            yield TextPicture(queries[:, :, rows], keys[:, :, columns], weights[layers], seen)

    return fidelity(pictures(), queries.shape[:2], order=order)


def mean_entropy(stack: CapturedStack) -> np.ndarray:
    """[layer, head]: the mean over queries, in nats."""
    with np.errstate(invalid="ignore"):
        return np.asarray(np.nanmean(np.concatenate([entropy(weights) for weights in stack.weights], -1), -1))


def most_attended(stack: CapturedStack) -> tuple[np.ndarray, np.ndarray]:
    """The TOP keys of each query as rows of the keys, strongest first, and their weights: [layer, head, query, TOP] both."""
    heads, n_query = (len(stack.layers), len(stack.heads)), len(stack.query_tokens)
    keys = np.full((*heads, n_query, TOP), -1, dtype=np.int32)
    kept = np.zeros((*heads, n_query, TOP), dtype=np.float32)
    for text, weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        n = min(TOP, weights.shape[-1])
        few = np.argpartition(-weights, n - 1, -1)[..., :n]  # [layer, head, query, n]
        values = np.take_along_axis(weights, few, -1)
        order = np.argsort(-values, -1, kind="stable")
        values = np.take_along_axis(values, order, -1)
        kept[:, :, rows, :n] = values
        keys[:, :, rows, :n] = np.where(values > 0, np.take_along_axis(few, order, -1) + columns.start, -1)
    return keys, kept


def whole_maps(stack: CapturedStack) -> np.ndarray | None:
    """Every weight as round(√a · LEVELS), a byte each: [layer, head, Σ queries · keys]; None where that is too much to keep."""
    size = sum(weights.shape[2] * weights.shape[3] for weights in stack.weights)
    heads = (len(stack.layers), len(stack.heads))
    if size * heads[0] * heads[1] > MAPS_ROOM:
        return None
    maps = np.empty((*heads, size), dtype=np.uint8)
    start = 0
    for weights in stack.weights:
        end = start + weights.shape[2] * weights.shape[3]
        steps = np.rint(np.sqrt(np.clip(np.nan_to_num(weights), 0, 1)) * LEVELS)
        maps[:, :, start:end] = steps.astype(np.uint8).reshape(*heads, -1)
        start = end
    return maps
