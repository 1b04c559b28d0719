"""What can be had from a model: its stacks, and whether more than weights is recorded."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Gives:
    """What can be had from a model."""

    stacks: Mapping[str, tuple[int, int, int]]  # stack → layers, heads, key heads (of the first layer)
    recorded: bool
    plain: bool
    streamed: bool  # whether its attention can run through a fused kernel, so that no map is made

    def __str__(self) -> str:
        return "weights, queries, keys, values" if self.recorded else "weights only"
