"""How far a picture in two or three dimensions is from the attention it shows, and the gradient of that; in torch.

A query lies at x, a key at y, and near means attends:

    KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) )        softmax over the keys of i's own text that it may see
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import torch

#: Heads that are worked on together: a text's maps of this many heads stay in a core's cache.
TOGETHER = 24

Tensors = list[torch.Tensor]
J = TypeVar("J")
T = TypeVar("T")


class RunParts(Protocol):
    """Runs `work` on every job and gives the results in order, as the built-in `map` does."""

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J], /) -> Iterator[T]: ...


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
class PlaneProjections:
    """x = q · query + offset, y = k · key: query, key [head, dim, dims], offset [head, dims]."""

    query: torch.Tensor
    key: torch.Tensor
    offset: torch.Tensor

    def project(self, text: HeadText) -> tuple[torch.Tensor, torch.Tensor]:
        """[head, query, dims], [head, key, dims]"""
        return torch.baddbmm(self.offset[:, None], text.queries, self.query), text.keys @ self.key


def divergence(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """KL( α_i ‖ softmax_j( −‖x_i − y_j‖² ) ) of every query: [head, query], in nats."""
    logs = torch.log_softmax(logits_of(text, x, y), -1)
    weights = text.weights
    terms = weights * (weights.clamp_min(torch.finfo(weights.dtype).tiny).log() - logs)
    return terms.masked_fill(weights <= 0, 0).sum(-1)


def logits_of(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    """−‖x − y‖² + ‖x‖², which has the same softmax as −‖x − y‖²: [head, query, key]; hidden keys lowest."""
    logits = torch.baddbmm(-y.square().sum(-1)[:, None], x, y.mT, alpha=2)
    return logits if text.visible is None else logits.masked_fill_(~text.visible, torch.finfo(logits.dtype).min)


def gradients_of(text: HeadText, x: torch.Tensor, y: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, float]:
    """Of the sum over queries of the divergence, by x and by y, and how many queries see a key at all.

    g = softmax − α, whose rows sum to 0:  ∂x_i = 2 Σ_j g_ij y_j,   ∂y_j = 2 Σ_i g_ij (x_i − y_j).
    """
    g = torch.softmax(logits_of(text, x, y), -1).sub_(text.weights)  # [head, query, key]
    rows = float(x.shape[1])
    if text.visible is not None:
        seeing = text.visible.any(-1, keepdim=True)  # [1 or head, query, 1]
        g.mul_(seeing)
        rows = float(seeing.float().mean(0).sum())
    gx = 2 * torch.bmm(g, y)
    back = torch.bmm(torch.cat([x, torch.ones_like(x[..., :1])], -1).mT, g).mT  # [head, key, dims + 1]
    return gx, 2 * (back[..., :-1] - y * back[..., -1:]), rows


def adam(parameters: Tensors, gradients: Callable[[int], Tensors], steps: int, rate: float | torch.Tensor, end: float = 0.0) -> None:
    """Adam in place, ten steps of warming up, then a cosine down to `end` of the rate."""
    first, second = ([torch.zeros_like(parameter) for parameter in parameters] for _ in range(2))
    for step in range(steps):
        share = (end + (1 - end) * 0.5 * (1 + math.cos(math.pi * step / steps))) * min(1.0, (step + 1) / 10)
        for parameter, m, v, g in zip(parameters, first, second, gradients(step), strict=True):
            m.mul_(0.9).add_(g, alpha=0.1)
            v.mul_(0.99).addcmul_(g, g, value=0.01)
            parameter -= rate * share * (m / (1 - 0.9 ** (step + 1))) / ((v / (1 - 0.99 ** (step + 1))).sqrt() + 1e-8)


def in_chunks(n_heads: int) -> list[slice]:
    """Heads in equal parts of at most TOGETHER, an even number of parts where there are several."""
    parts = -(-n_heads // TOGETHER)
    size = -(-n_heads // (parts + parts % 2 if parts > 1 else parts))
    return [slice(first, min(first + size, n_heads)) for first in range(0, n_heads, size)]
