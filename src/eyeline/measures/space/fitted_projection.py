"""Pictures fitted to attention: the best two-dimensional attention head, for every head at once, in torch.

Every query becomes x = q·W_q + c and every key y = k·W_k in the picture, such that

    mean_i KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) )        softmax over the keys of i's own text that it may see

is least: near means attends. The projections are linear, so that they apply to unseen tokens too. Seeded; the number of threads does not
matter.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence

import torch

from eyeline.measures.space.projection_loss import HeadText, PlaneProjections, RunParts, Tensors, adam, divergence, gradients_of, in_chunks

#: First several starts for a few steps each, then the best of them to the end: the loss has many valleys.
STARTS, FIRST_STEPS, LAST_STEPS = 12, 60, 500
FIRST_RATE, LAST_RATE = 0.2, 0.1
#: One step uses texts of about this many tokens.
STEP_TOKENS = 400
#: Directions with less than this share of the largest variance are left out.
FLAT = 1e-4


def fit_projections(
    texts: Sequence[HeadText],
    scales: torch.Tensor,
    *,
    dims: int = 2,
    seed: int = 0,
    starts: int = STARTS,
    steps: int = LAST_STEPS,
    begin: PlaneProjections | None = None,
    run: RunParts = map,
) -> PlaneProjections:
    """The projections of every head. scales: [head], what q·k is multiplied with; run: how parts of the heads are computed.

    begin: projections of similar texts to start from, instead of the random starts.
    """
    n_heads, _, dim = texts[0].queries.shape
    generator = torch.Generator().manual_seed(seed)
    directions = torch.randn(starts, n_heads, dim, dims, generator=generator)  # drawn for all heads, however they are split up

    def fit(heads: slice) -> PlaneProjections:
        fit = _Fit([text.of(heads) for text in texts], scales[heads], dims, seed)
        if begin is not None:
            return fit.continue_from(PlaneProjections(begin.query[heads], begin.key[heads], begin.offset[heads]), steps)
        return fit.run(directions[:, heads], steps)

    parts = list(run(fit, in_chunks(n_heads)))
    return PlaneProjections(*(torch.cat([getattr(part, name) for part in parts]) for name in ("query", "key", "offset")))


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
        self.query_root, self.key_root = query_root, key_root
        self.left, strengths, right = torch.linalg.svd(query_root @ key_root.mT * scales[:, None, None])
        self.right, self.roots = right.mT, (strengths / 2).sqrt()[:, None]

    def run(self, directions: torch.Tensor, steps: int) -> PlaneProjections:
        tried = []
        for number, direction in enumerate(directions):
            turn, _ = torch.linalg.qr(direction)  # [head, dim, dims]
            start = [self.left * self.roots @ turn, self.right * self.roots @ turn, turn.new_zeros(len(turn), self.dims)]
            tried.append(self._descend(start, FIRST_STEPS, FIRST_RATE, self.seed + number, 0.3) if len(directions) > 1 else start)
        losses = torch.stack([self._loss(parameters) for parameters in tried])  # [start, head]
        best = torch.nan_to_num(losses, nan=math.inf).argmin(0)
        every = torch.arange(len(best))
        chosen = [torch.stack(parts)[best, every] for parts in zip(*tried, strict=True)]
        return self._finish(chosen, steps)

    def continue_from(self, begin: PlaneProjections, steps: int) -> PlaneProjections:
        """From projections that were fitted before, here between whitened vectors."""
        offset = begin.offset + (self.query_mean @ begin.query)[:, 0] - (self.key_mean @ begin.key)[:, 0]
        return self._finish([self.query_root @ begin.query, self.key_root @ begin.key, offset], steps)

    def _finish(self, parameters: Tensors, steps: int) -> PlaneProjections:
        query, key, offset = self._descend(parameters, steps, LAST_RATE, self.seed, 0.0)
        query, key = self.query_white @ query, self.key_white @ key
        return PlaneProjections(query, key, offset - (self.query_mean @ query)[:, 0] + (self.key_mean @ key)[:, 0])

    def _descend(self, parameters: Tensors, steps: int, rate: float, seed: int, end: float) -> Tensors:
        """Adam on mini-batches of whole texts; the rate falls as a cosine to `end` of itself."""
        order = _batches([text.queries.shape[1] for text in self.texts], torch.Generator().manual_seed(seed))

        def gradients(_: int) -> Tensors:
            query, key, offset = parameters
            sums = [torch.zeros_like(parameter) for parameter in parameters]
            rows = 0.0
            for number in next(order):
                text = self.texts[number]
                x, y = torch.baddbmm(offset[:, None], text.queries, query), text.keys @ key
                gx, gy, seeing = gradients_of(text, x, y)
                for total, part in zip(sums, (text.queries.mT @ gx, text.keys.mT @ gy, gx.sum(1)), strict=True):
                    total += part
                rows += seeing
            return [total / max(rows, 1.0) for total in sums]

        adam(parameters, gradients, steps, rate, end)
        return parameters

    def _loss(self, parameters: Tensors) -> torch.Tensor:
        """Cross-entropy of every head: the divergence, less what does not depend on the projections."""
        projections = PlaneProjections(parameters[0], parameters[1], parameters[2])
        return torch.stack([divergence(text, *projections.project(text)).sum(-1) for text in self.texts]).sum(0)


def _batches(lengths: Sequence[int], generator: torch.Generator) -> Iterator[list[int]]:
    """Endless mini-batches of texts, about STEP_TOKENS tokens each, every text once before any comes again."""
    batch: list[int] = []
    size = 0
    while True:
        for number in torch.randperm(len(lengths), generator=generator).tolist():
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
