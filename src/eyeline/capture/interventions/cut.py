"""A pass whose heads are cut out of the graph of gradients, or watched: what enters each head, and what it writes as a leaf of its own.

With `cut`, what a head writes keeps its value but no longer depends on what it read. A gradient that arrives at a head then stops there:
what is left between two heads is the direct connection, through the residual stream, norms and feed-forward blocks.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import torch

from eyeline.capture.interventions.change import Terms
from eyeline.capture.layout import Slot


@dataclass
class HeadsOfPass:
    """The changes of one pass (`change.Changes`), and what it left behind for each layer: one entry for each slot, in order.

    inputs    queries [1, head, token, dim], keys and values [1, key head, token, dim]
    written   what the heads wrote: [1, token, head, dim]; with `cut`, leaves
    """

    calls: Sequence[Slot | None]
    cut: bool
    slots: list[Slot] = field(default_factory=list)
    inputs: list[tuple[torch.Tensor, torch.Tensor, torch.Tensor]] = field(default_factory=list)
    written: list[torch.Tensor] = field(default_factory=list)
    calls_made: int = 0

    def next_change(self) -> _Watch | None:
        slot = self.calls[self.calls_made] if self.calls_made < len(self.calls) else None
        self.calls_made += 1
        return None if slot is None else _Watch(self, slot)


@dataclass(frozen=True)
class _Watch:
    heads: HeadsOfPass
    slot: Slot

    @property
    def needs_weights(self) -> bool:
        return False

    def before(self, terms: Terms) -> Terms:
        self.heads.slots.append(self.slot)
        self.heads.inputs.append((terms.queries, terms.keys, terms.values))
        return terms

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, terms: Terms) -> tuple[torch.Tensor, torch.Tensor | None]:
        if self.heads.cut:
            output = output.detach().requires_grad_()
        self.heads.written.append(output)
        return output, weights
