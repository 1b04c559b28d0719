"""Which columns of one matrix are the columns of another, in any order: how a projection is recognised by what it computes."""

from __future__ import annotations

from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class ColumnMatch:
    """target = factor · source[:, index], column by column. index: [target column]"""

    index: torch.Tensor
    factor: float


def match_columns(target: torch.Tensor, source: torch.Tensor, within: float) -> ColumnMatch | None:
    """The columns of `source` that make up `target`, which may be multiplied with one number; None where there are none.

    target: [row, column], source: [row, column]; `within`: the largest difference, as a part of the largest number of the target

    >>> source = torch.tensor([[1.0, 2.0, 3.0], [0.0, 5.0, 1.0]])
    >>> match_columns(source[:, [2, 0]] * 0.5, source, 1e-6)
    ColumnMatch(index=tensor([2, 0]), factor=0.5)
    """
    if len(target) != len(source) or not target.numel() or not source.numel():
        return None
    target, source = target.double(), source.double()
    nearest = _squared_distances(target, source).argmin(1)
    if _agree(target, source[:, nearest], within):
        return ColumnMatch(nearest, 1.0)
    direction = (_unit(target).T @ _unit(source)).argmax(1)
    chosen = source[:, direction]
    size = (chosen * chosen).sum()
    factor = float((target * chosen).sum() / size) if size > 0 else 0.0
    return ColumnMatch(direction, factor) if factor and _agree(target, factor * chosen, within) else None


def _squared_distances(target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
    """[target column, source column]"""
    distances: torch.Tensor = (target**2).sum(0)[:, None] + (source**2).sum(0) - 2 * target.T @ source
    return distances


def _unit(matrix: torch.Tensor) -> torch.Tensor:
    return matrix / matrix.square().sum(0).sqrt().clamp_min(1e-30)


def _agree(target: torch.Tensor, other: torch.Tensor, within: float) -> bool:
    return bool((target - other).abs().max() <= within * target.abs().max())
