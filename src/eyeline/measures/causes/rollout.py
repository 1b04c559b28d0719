"""From the maps of single layers to how much of each input token a layer's output holds: products of maps."""

from __future__ import annotations

import numpy as np


def with_residual(weights: np.ndarray) -> np.ndarray:
    """Attention with the residual connection beside it, half and half: Ā = ½A + ½I.

    weights: [..., query, key], square → the same shape; rows that summed to 1 still do.

    >>> with_residual(np.array([[0.5, 0.5], [1.0, 0.0]])).tolist()
    [[0.75, 0.25], [0.5, 0.5]]
    """
    return np.asarray(0.5 * weights + 0.5 * np.eye(weights.shape[-1], dtype=weights.dtype))


def rollout(maps: np.ndarray) -> np.ndarray:
    """The product of the maps up to each layer: R[l] = M[l] · R[l − 1], and R[−1] = I.

    maps: [layer, query, key], with the residual in them where it counts → [layer, query, input token].
    Source: Abnar & Zuidema 2020, section 3.

    >>> rollout(np.array([[[0.5, 0.5], [0.0, 1.0]], [[0.5, 0.5], [0.0, 1.0]]]))[1].tolist()
    [[0.25, 0.75], [0.0, 1.0]]
    """
    products = [maps[0]]
    for layer_map in maps[1:]:
        products.append(layer_map @ products[-1])
    return np.stack(products)


def relevance(weights: np.ndarray, gradients: np.ndarray) -> np.ndarray:
    """Gradient x attention, accumulated over the layers.

        Ā[l] = mean over heads of (∂L/∂A ⊙ A)⁺        R ← R + Ā · R,  beginning with I

    weights, gradients: [layer, head, query, key] → [layer, query, input token]: R after each layer.
    Source: Chefer, Gur & Wolf 2021 (Generic attention-model explainability), equations 5 and 6.

    >>> relevance(np.full((1, 1, 2, 2), 0.5), np.array([[[[2.0, -2.0], [0.0, 2.0]]]]))[0].tolist()
    [[2.0, 0.0], [0.0, 2.0]]
    """
    current = np.eye(weights.shape[-1], dtype=weights.dtype)  # [query, input token]
    after_layer = []
    for layer_weights, layer_gradients in zip(weights, gradients, strict=True):
        positive = np.maximum(layer_weights * layer_gradients, 0).mean(axis=0)  # [query, key]
        current = current + positive @ current
        after_layer.append(current)
    return np.stack(after_layer)


def rows_to_one(maps: np.ndarray) -> np.ndarray:
    """Rows divided by their sums; a row of zeros stays zero.

    >>> rows_to_one(np.array([[1.0, 3.0], [0.0, 0.0]])).tolist()
    [[0.25, 0.75], [0.0, 0.0]]
    """
    sums = maps.sum(axis=-1, keepdims=True)
    return np.asarray(np.divide(maps, sums, out=np.zeros_like(maps), where=sums > 0))
