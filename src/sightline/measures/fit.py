"""Pictures fitted to attention: the best two-dimensional attention head, for every head at once, in torch.

Every query becomes x = q·W_q + c and every key y = k·W_k in the picture, such that

    mean_i KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) )        softmax over the keys of i's own text that it may see

is least: near means attends. The maps are linear, so that they place unseen tokens too. `free_points` then lets the points of these texts
go, with a pull back to where the maps put them. Seeded, and the same whatever the number of threads.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import torch

#: Heads that are fitted together: a text's maps of so many heads stay in a core's cache.
TOGETHER = 24
#: First several starts for a few steps each, then the best of them to the end: the loss has many valleys.
STARTS, FIRST_STEPS, LAST_STEPS = 12, 60, 500
FIRST_RATE, LAST_RATE = 0.2, 0.1
#: Texts of about so many tokens make a step.
STEP_TOKENS = 400
#: Steps, rate (of the points' spread) and pull of the freed points.
FREE_STEPS, FREE_RATE, PULL = 120, 0.1, 0.002
#: So much of what the freed points are to show is put on each query's most attended key: it costs a little of the whole distribution,
#: and brings the key that matters most to the front.
FOCUS = 0.2
#: Directions with less than this share of the largest variance are left out.
FLAT = 1e-4

Tensors = list[torch.Tensor]
J, T = TypeVar("J"), TypeVar("T")


@dataclass(frozen=True)
class HeadText:
    """One text as every head sees it. queries [head, query, dim], keys [head, key, dim], weights [head, query, key];
    visible: [1 or head, query, key], True where a query may look; None: everywhere."""

    queries: torch.Tensor
    keys: torch.Tensor
    weights: torch.Tensor
    visible: torch.Tensor | None = None

    def of(self, heads: slice) -> HeadText:
        visible = self.visible if self.visible is None or len(self.visible) == 1 else self.visible[heads]
        return HeadText(self.queries[heads], self.keys[heads], self.weights[heads], visible)


@dataclass(frozen=True)
class Maps:
    """x = q · query + offset, y = k · key: query, key [head, dim, dims], offset [head, dims]."""

    query: torch.Tensor
    key: torch.Tensor
    offset: torch.Tensor

    def place(self, text: HeadText) -> tuple[torch.Tensor, torch.Tensor]:
        """[head, query, dims], [head, key, dims]"""
        return torch.baddbmm(self.offset[:, None], text.queries, self.query), text.keys @ self.key


def fit_maps(
    texts: Sequence[HeadText],
    scales: torch.Tensor,
    *,
    dims: int = 2,
    seed: int = 0,
    starts: int = STARTS,
    steps: int = LAST_STEPS,
    progress: Callable[[int, int], None] | None = None,
) -> Maps:
    """The maps of every head. scales: [head], what q·k is multiplied with; progress: called with parts done, parts in all."""
    n_heads, _, dim = texts[0].queries.shape
    made = torch.Generator().manual_seed(seed)
    directions = torch.randn(starts, n_heads, dim, dims, generator=made)  # drawn for all heads, however they are split up

    def fit(heads: slice) -> Maps:
        return _Fit([text.of(heads) for text in texts], scales[heads], dims, seed).run(directions[:, heads], steps)

    found = _in_parallel(fit, in_chunks(n_heads), progress)
    return Maps(*(torch.cat([getattr(maps, name) for maps in found]) for name in ("query", "key", "offset")))


def free_texts(
    texts: Sequence[HeadText], maps: Maps, *, progress: Callable[[int, int], None] | None = None
) -> list[tuple[torch.Tensor, torch.Tensor]]:
    """The points of every text, freed: each text by itself, since no query looks beyond its own."""
    n_heads = len(maps.offset)
    jobs = [(text, heads) for text in texts for heads in in_chunks(n_heads)]

    def free(job: tuple[HeadText, slice]) -> tuple[torch.Tensor, torch.Tensor]:
        text, heads = job[0].of(job[1]), job[1]
        return free_points(text, *Maps(maps.query[heads], maps.key[heads], maps.offset[heads]).place(text))

    found = _in_parallel(free, jobs, progress)
    each = len(jobs) // len(texts)
    return [
        (torch.cat([x for x, _ in found[first : first + each]]), torch.cat([y for _, y in found[first : first + each]]))
        for first in range(0, len(found), each)
    ]


def free_points(text: HeadText, x: torch.Tensor, y: torch.Tensor, *, steps: int = FREE_STEPS) -> tuple[torch.Tensor, torch.Tensor]:
    """The points of one text, freed from the linear maps that put them at x [head, query, dims] and y [head, key, dims].

        Σ_i KL( α'_i ‖ softmax_j( −‖x_i − y_j‖² ) )  +  pull · (Σ ‖x − x⁰‖² + Σ ‖y − y⁰‖²) / spread²

    where α' is the attention with FOCUS of it put on the most attended key.
    """
    text = _focused(text)
    both = torch.cat([x, y], 1)
    spread = (both - both.mean(1, keepdim=True)).square().mean((1, 2), keepdim=True).sqrt().clamp_min(1e-6)  # [head, 1, 1]
    start = [x, y]
    points = [x.clone(), y.clone()]

    def gradients(_: int) -> Tensors:
        gx, gy, _rows = _gradients(text, *points)
        return [g * spread + 2 * PULL * (p - p0) / spread for g, p, p0 in zip((gx, gy), points, start, strict=True)]

    _adam(points, gradients, steps, FREE_RATE * spread)
    return points[0], points[1]


def _focused(text: HeadText) -> HeadText:
    top = text.weights.argmax(-1, keepdim=True)  # [head, query, 1]
    seen = text.weights.gather(-1, top) > 0
    weights = (text.weights * (1 - FOCUS)).scatter_add_(-1, top, FOCUS * seen.to(text.weights.dtype))
    return HeadText(text.queries, text.keys, weights, text.visible)


def divergence(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) ) of every query: [head, query], in nats."""
    logs = torch.log_softmax(_logits(text, x, y), -1)
    weights = text.weights
    terms = weights * (weights.clamp_min(torch.finfo(weights.dtype).tiny).log() - logs)
    return terms.masked_fill(weights <= 0, 0).sum(-1)


class _Fit:
    """One chunk of heads. Queries and keys are whitened first, so that one rate suits every direction."""

    def __init__(self, texts: list[HeadText], scales: torch.Tensor, dims: int, seed: int) -> None:
        self.dims, self.seed = dims, seed
        self.query_mean, self.query_white, query_root = _whitening([text.queries for text in texts])
        self.key_mean, self.key_white, key_root = _whitening([text.keys for text in texts])
        self.texts = [
            HeadText(
                torch.bmm(text.queries - self.query_mean, self.query_white),
                torch.bmm(text.keys - self.key_mean, self.key_white),
                text.weights,
                text.visible,
            )
            for text in texts
        ]
        # the score itself between whitened vectors, as matched pairs of directions: [head, dim, dim], [head, dim]
        self.left, strengths, right = torch.linalg.svd(query_root @ key_root.mT * scales[:, None, None])
        self.right, self.roots = right.mT, (strengths / 2).sqrt()[:, None]

    def run(self, directions: torch.Tensor, steps: int) -> Maps:
        tried = []
        for number, direction in enumerate(directions):
            turn, _ = torch.linalg.qr(direction)  # [head, dim, dims]
            start = [self.left * self.roots @ turn, self.right * self.roots @ turn, turn.new_zeros(len(turn), self.dims)]
            tried.append(self._descend(start, FIRST_STEPS, FIRST_RATE, self.seed + number, 0.3) if len(directions) > 1 else start)
        losses = torch.stack([self._loss(one) for one in tried])  # [start, head]
        best = torch.nan_to_num(losses, nan=math.inf).argmin(0)
        every = torch.arange(len(best))
        chosen = [torch.stack(parts)[best, every] for parts in zip(*tried, strict=True)]
        query, key, offset = self._descend(chosen, steps, LAST_RATE, self.seed, 0.0)
        query, key = self.query_white @ query, self.key_white @ key
        return Maps(query, key, offset - (self.query_mean @ query)[:, 0] + (self.key_mean @ key)[:, 0])

    def _descend(self, parameters: Tensors, steps: int, rate: float, seed: int, end: float) -> Tensors:
        """Adam on mini-batches of whole texts; the rate falls as a cosine to `end` of itself."""
        order = _batches([text.queries.shape[1] for text in self.texts], torch.Generator().manual_seed(seed))

        def gradients(_: int) -> Tensors:
            query, key, offset = parameters
            sums = [torch.zeros_like(one) for one in parameters]
            rows = 0.0
            for number in next(order):
                text = self.texts[number]
                x, y = torch.baddbmm(offset[:, None], text.queries, query), text.keys @ key
                gx, gy, seeing = _gradients(text, x, y)
                for total, part in zip(sums, (text.queries.mT @ gx, text.keys.mT @ gy, gx.sum(1)), strict=True):
                    total += part
                rows += seeing
            return [total / max(rows, 1.0) for total in sums]

        _adam(parameters, gradients, steps, rate, end)
        return parameters

    def _loss(self, parameters: Tensors) -> torch.Tensor:
        """Cross-entropy of every head: the divergence, less what does not depend on the maps."""
        maps = Maps(parameters[0], parameters[1], parameters[2])
        return torch.stack([divergence(text, *maps.place(text)).sum(-1) for text in self.texts]).sum(0)


def _logits(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """−‖x − y‖² + ‖x‖², which a softmax cannot tell apart: [head, query, key]; hidden keys lowest."""
    logits = torch.baddbmm(-y.square().sum(-1)[:, None], x, y.mT, alpha=2)
    return logits if text.visible is None else logits.masked_fill_(~text.visible, torch.finfo(logits.dtype).min)


def _gradients(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Of the sum over queries of the divergence, by x and by y, and how many queries see a key at all.

    g = softmax − α, whose rows sum to 0:  ∂x_i = 2 Σ_j g_ij y_j,   ∂y_j = 2 Σ_i g_ij (x_i − y_j).
    """
    g = torch.softmax(_logits(text, x, y), -1).sub_(text.weights)  # [head, query, key]
    rows = float(x.shape[1])
    if text.visible is not None:
        seeing = text.visible.any(-1, keepdim=True)  # [1 or head, query, 1]
        g.mul_(seeing)
        rows = float(seeing.float().mean(0).sum())
    gx = 2 * torch.bmm(g, y)
    back = torch.bmm(torch.cat([x, torch.ones_like(x[..., :1])], -1).mT, g).mT  # [head, key, dims + 1]
    return gx, 2 * (back[..., :-1] - y * back[..., -1:]), rows


def _adam(parameters: Tensors, gradients: Callable[[int], Tensors], steps: int, rate: float | torch.Tensor, end: float = 0.0) -> None:
    """Adam in place, ten steps of warming up, then a cosine down to `end` of the rate."""
    first, second = ([torch.zeros_like(one) for one in parameters] for _ in range(2))
    for step in range(steps):
        share = (end + (1 - end) * 0.5 * (1 + math.cos(math.pi * step / steps))) * min(1.0, (step + 1) / 10)
        for one, m, v, g in zip(parameters, first, second, gradients(step), strict=True):
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.99).addcmul_(g, g, value=0.01)
            one -= rate * share * (m / (1 - 0.9 ** (step + 1))) / ((v / (1 - 0.99 ** (step + 1))).sqrt() + 1e-8)


def _batches(lengths: Sequence[int], made: torch.Generator) -> Iterator[list[int]]:
    """Endless mini-batches of texts, about STEP_TOKENS tokens each, every text once before any comes again."""
    batch: list[int] = []
    size = 0
    while True:
        for number in torch.randperm(len(lengths), generator=made).tolist():
            batch.append(number)
            size += lengths[number]
            if size >= STEP_TOKENS or len(batch) >= len(lengths):
                yield batch
                batch, size = [], 0


def _whitening(parts: Sequence[torch.Tensor]) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Mean [head, 1, dim], W with cov(v·W) = 1 and R with W·R = 1, both [head, dim, dim]; flat directions are zero in W and R."""
    count = sum(part.shape[1] for part in parts)
    mean = torch.stack([part.sum(1) for part in parts]).sum(0)[:, None] / count
    moments = torch.stack([(part - mean).mT @ (part - mean) for part in parts]).sum(0) / count
    values, vectors = torch.linalg.eigh(moments)
    largest = values[:, -1:]
    kept = (values > FLAT * largest) & (largest > 0)
    root = values.clamp_min(torch.finfo(values.dtype).tiny).sqrt() * kept  # [head, dim]
    inverse = torch.where(kept, 1 / root.clamp_min(torch.finfo(values.dtype).tiny), torch.zeros_like(root))
    return mean, vectors * inverse[:, None], (vectors * root[:, None]).mT


def in_chunks(n_heads: int) -> list[slice]:
    """Heads in equal parts of at most TOGETHER, an even number of parts where there are several."""
    parts = -(-n_heads // TOGETHER)
    size = -(-n_heads // (parts + parts % 2 if parts > 1 else parts))
    return [slice(first, min(first + size, n_heads)) for first in range(0, n_heads, size)]


def _in_parallel(work: Callable[[J], T], jobs: Sequence[J], progress: Callable[[int, int], None] | None) -> list[T]:
    """Each job on a core of its own: torch's own threads would wait for each other after each of many small steps."""
    threads, found = torch.get_num_threads(), []
    torch.set_num_threads(1)
    try:
        with ThreadPoolExecutor(max(1, min(threads, os.cpu_count() or 1))) as pool:
            for one in pool.map(work, jobs):
                found.append(one)
                if progress is not None:
                    progress(len(found), len(jobs))
    finally:
        torch.set_num_threads(threads)
    return found
