"""The pictures of a captured stack, fitted to its attention: every head at once."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import torch

from eyeline.analyses.progress import Steps
from eyeline.analyses.space.capture import CapturedStack
from eyeline.analyses.space.held_out import held_out_fidelity, pictures_of
from eyeline.analyses.space.parallel import Parallel
from eyeline.measures.space.fidelity import Fidelity, fidelity
from eyeline.measures.space.fitted_projection import fit_projections
from eyeline.measures.space.freed_points import free_texts
from eyeline.measures.space.projection_loss import HeadText, PlaneProjections, divergence
from eyeline.results.space.stack import LinearProjections

#: Steps on all texts together after the fit on the built-in paragraphs.
STEPS_FROM_BACKGROUND = 150


def head_texts(stack: CapturedStack) -> list[HeadText]:
    """The texts as input of the fit: layers and heads along one axis."""
    n = len(stack.layers) * len(stack.heads)
    queries, keys = (
        torch.from_numpy(vectors.reshape(n, *vectors.shape[2:])).float() for vectors in (stack.vectors.queries, stack.vectors.keys)
    )
    texts = []
    for text, weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        visible = stack.visible[text]
        if visible is not None and (visible == visible[:1]).all():
            visible = visible[:1]
        elif visible is not None:
            visible = np.repeat(visible, len(stack.heads), axis=0)  # [layer · head, query, key]
        flat = torch.from_numpy(np.nan_to_num(weights)).float().reshape(n, *weights.shape[2:])
        if not stack.plain:  # where a sink takes a share, the rest is scaled to 1
            flat = flat / flat.sum(-1, keepdim=True).clamp_min(torch.finfo(flat.dtype).tiny)
        shown = None if visible is None else torch.from_numpy(visible)
        texts.append(HeadText(queries[:, rows].contiguous(), keys[:, columns].contiguous(), flat, shown))
    return texts


@dataclass(frozen=True)
class FittedPictures:
    """Where the fitted projections put the queries and keys (freed: where they moved from there).

    queries, keys  [layer, head, query or key, dims]
    kl             [layer, head]: nats lost
    held_out       top1, top5, rank [layer, head], on attention that a fit did not see
    """

    queries: np.ndarray
    keys: np.ndarray
    linear: LinearProjections
    kl: np.ndarray
    held_out: Fidelity


def fitted(stack: CapturedStack, background: CapturedStack | None, *, free: bool, dims: int, seed: int, steps: Steps) -> FittedPictures:
    """The pictures of the stack's texts, fitted to them and to the background where there is one."""
    texts, shape = head_texts(stack), (len(stack.layers), len(stack.heads))
    background_texts = [] if background is None else head_texts(background)
    scales = torch.tensor(stack.vectors.scales).repeat_interleave(shape[1])
    begin, report = None, steps.begin("fitting")
    if background_texts:  # first the paragraphs alone: a fit that has not seen the texts, and a good start for all together
        begin = fit_projections(background_texts, scales, dims=dims, seed=seed, run=Parallel(report))
        run = Parallel(steps.begin("holding_out"))
        projections = fit_projections(
            [*texts, *background_texts], scales, dims=dims, seed=seed, steps=STEPS_FROM_BACKGROUND, begin=begin, run=run
        )
        held_out = fidelity(pictures_of(texts, begin), (len(scales),))
    else:
        projections = fit_projections(texts, scales, dims=dims, seed=seed, run=Parallel(report))
        held_out = held_out_fidelity(texts, scales, dims=dims, seed=seed, report=steps.begin("holding_out"))
    points = free_texts(texts, projections, run=Parallel(steps.begin("freeing"))) if free else list(map(projections.project, texts))
    rows = sum(text.queries.shape[1] for text in texts)
    kl = torch.stack([divergence(text, x, y).sum(-1) for text, (x, y) in zip(texts, points, strict=True)]).sum(0) / rows
    queries, keys = (torch.cat(side, 1).numpy() for side in zip(*points, strict=True))
    return FittedPictures(
        queries.reshape(*shape, *queries.shape[1:]),
        keys.reshape(*shape, *keys.shape[1:]),
        _linear(projections, shape),
        kl.numpy().reshape(shape),
        replace(held_out, **{name: getattr(held_out, name).reshape(shape) for name in ("top1", "top5", "rank")}),
    )


def _linear(projections: PlaneProjections, shape: tuple[int, int]) -> LinearProjections:
    parts = (projections.query, projections.key, projections.offset)
    return LinearProjections(*(part.numpy().reshape(*shape, *part.shape[1:]) for part in parts))
