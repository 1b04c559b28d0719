"""Pictures in which each point moves on its own after the linear projection, to show the attention of these texts better; in torch."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from eyeline.measures.space.projection_loss import HeadText, PlaneProjections, RunParts, Tensors, adam, gradients_of, in_chunks

#: Steps, rate (of the points' spread) and pull of the freed points.
FREE_STEPS, FREE_RATE, PULL = 120, 0.1, 0.002
#: This share of the attention that the freed points are to show is put on each query's most attended key. The whole distribution is shown
#: a little less exactly, and the most attended key comes nearest more often.
FOCUS = 0.2


def free_texts(texts: Sequence[HeadText], projections: PlaneProjections, *, run: RunParts = map) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The points of every text, freed: each text by itself, since no query looks beyond its own."""
    n_heads = len(projections.offset)
    jobs = [(text, heads) for text in texts for heads in in_chunks(n_heads)]

    def free(job: tuple[HeadText, slice]) -> tuple[torch.Tensor, torch.Tensor]:
        text, heads = job[0].of(job[1]), job[1]
        part = PlaneProjections(projections.query[heads], projections.key[heads], projections.offset[heads])
        return free_points(text, *part.project(text))

    parts = list(run(free, jobs))
    each = len(jobs) // len(texts)
    return [
        (torch.cat([x for x, _ in parts[first : first + each]]), torch.cat([y for _, y in parts[first : first + each]]))
        for first in range(0, len(parts), each)
    ]


def free_points(text: HeadText, x: torch.Tensor, y: torch.Tensor, *, steps: int = FREE_STEPS) -> tuple[torch.Tensor, torch.Tensor]:
    """The points of one text, freed from the linear projections that put them at x [head, query, dims] and y [head, key, dims].

        Σ_i KL( α'_i ‖ softmax_j( −‖x_i − y_j‖² ) )  +  pull · (Σ ‖x − x⁰‖² + Σ ‖y − y⁰‖²) / spread²

    where α' is the attention with FOCUS of it put on the most attended key.
    """
    text = _focused(text)
    both = torch.cat([x, y], 1)
    spread = (both - both.mean(1, keepdim=True)).square().mean((1, 2), keepdim=True).sqrt().clamp_min(1e-6)  # [head, 1, 1]
    start = [x, y]
    points = [x.clone(), y.clone()]

    def gradients(_: int) -> Tensors:
        gx, gy, _rows = gradients_of(text, *points)
        return [g * spread + 2 * PULL * (p - p0) / spread for g, p, p0 in zip((gx, gy), points, start, strict=True)]

    adam(points, gradients, steps, FREE_RATE * spread)
    return points[0], points[1]


def _focused(text: HeadText) -> HeadText:
    top = text.weights.argmax(-1, keepdim=True)  # [head, query, 1]
    seen = text.weights.gather(-1, top) > 0
    weights = (text.weights * (1 - FOCUS)).scatter_add_(-1, top, FOCUS * seen.to(text.weights.dtype))
    return HeadText(text.queries, text.keys, weights, text.visible)
