"""The pictures of a captured stack, fitted to its attention: every head at once."""

from __future__ import annotations

import numpy as np
import torch

from eyeline.analyses.progress import Steps
from eyeline.analyses.space.capture import CapturedStack
from eyeline.measures.fit import fit_maps
from eyeline.measures.free import free_texts
from eyeline.measures.picture import HeadText, Maps, divergence
from eyeline.results.space.space import LinearMaps


def head_texts(stack: CapturedStack) -> list[HeadText]:
    """The texts as the fit sees them: layers and heads along one axis."""
    n = len(stack.layers) * len(stack.heads)
    queries, keys = (torch.from_numpy(one.reshape(n, *one.shape[2:])).float() for one in (stack.vectors.queries, stack.vectors.keys))
    texts = []
    for text, weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        visible = stack.visible[text]
        if visible is not None and (visible == visible[:1]).all():
            visible = visible[:1]
        elif visible is not None:
            visible = np.repeat(visible, len(stack.heads), axis=0)  # [layer · head, query, key]
        flat = torch.from_numpy(np.nan_to_num(weights)).float().reshape(n, *weights.shape[2:])
        if not stack.plain:  # where a sink takes a share, the rest of it is all there is to show
            flat = flat / flat.sum(-1, keepdim=True).clamp_min(torch.finfo(flat.dtype).tiny)
        shown = None if visible is None else torch.from_numpy(visible)
        texts.append(HeadText(queries[:, rows].contiguous(), keys[:, columns].contiguous(), flat, shown))
    return texts


def fitted(
    stack: CapturedStack, *, free: bool, dims: int, seed: int, steps: Steps
) -> tuple[np.ndarray, np.ndarray, LinearMaps, np.ndarray]:
    """Where the fitted maps put the queries and keys (freed: where they went from there), the maps, and the nats lost by each head.

    → [layer, head, query, dims], [layer, head, key, dims], maps, [layer, head]
    """
    texts, shape = head_texts(stack), (len(stack.layers), len(stack.heads))
    scales = torch.tensor(stack.vectors.scales).repeat_interleave(shape[1])
    maps = fit_maps(texts, scales, dims=dims, seed=seed, progress=steps.begin("fitting"))
    points = free_texts(texts, maps, progress=steps.begin("freeing")) if free else [maps.place(text) for text in texts]
    rows = sum(text.queries.shape[1] for text in texts)
    kl = torch.stack([divergence(text, x, y).sum(-1) for text, (x, y) in zip(texts, points, strict=True)]).sum(0) / rows
    queries, keys = (torch.cat(side, 1).numpy() for side in zip(*points, strict=True))
    return (
        queries.reshape(*shape, *queries.shape[1:]),
        keys.reshape(*shape, *keys.shape[1:]),
        _linear(maps, shape),
        kl.numpy().reshape(shape),
    )


def _linear(maps: Maps, shape: tuple[int, int]) -> LinearMaps:
    return LinearMaps(*(one.numpy().reshape(*shape, *one.shape[1:]) for one in (maps.query, maps.key, maps.offset)))
