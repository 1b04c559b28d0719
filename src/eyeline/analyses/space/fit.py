"""The pictures of a captured stack, fitted to its attention: every head at once."""

from __future__ import annotations

import numpy as np
import torch

from eyeline.analyses.progress import Steps
from eyeline.analyses.space.capture import CapturedStack
from eyeline.analyses.space.parallel import Parallel
from eyeline.measures.space.fitted_projection import fit_projections
from eyeline.measures.space.freed_points import free_texts
from eyeline.measures.space.projection_loss import HeadText, Projections, divergence
from eyeline.results.space.space import LinearProjections


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
) -> tuple[np.ndarray, np.ndarray, LinearProjections, np.ndarray]:
    """Where the fitted projections put the queries and keys (freed: where they went from there), the projections, and the nats lost by each
    head.

    → [layer, head, query, dims], [layer, head, key, dims], projections, [layer, head]
    """
    texts, shape = head_texts(stack), (len(stack.layers), len(stack.heads))
    scales = torch.tensor(stack.vectors.scales).repeat_interleave(shape[1])
    projections = fit_projections(texts, scales, dims=dims, seed=seed, run=Parallel(steps.begin("fitting")))
    points = free_texts(texts, projections, run=Parallel(steps.begin("freeing"))) if free else list(map(projections.project, texts))
    rows = sum(text.queries.shape[1] for text in texts)
    kl = torch.stack([divergence(text, x, y).sum(-1) for text, (x, y) in zip(texts, points, strict=True)]).sum(0) / rows
    queries, keys = (torch.cat(side, 1).numpy() for side in zip(*points, strict=True))
    return (
        queries.reshape(*shape, *queries.shape[1:]),
        keys.reshape(*shape, *keys.shape[1:]),
        _linear(projections, shape),
        kl.numpy().reshape(shape),
    )


def _linear(projections: Projections, shape: tuple[int, int]) -> LinearProjections:
    parts = (projections.query, projections.key, projections.offset)
    return LinearProjections(*(part.numpy().reshape(*shape, *part.shape[1:]) for part in parts))
