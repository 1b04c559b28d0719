"""The point inside an attention call where interventions act: what a change is given, and the changes of the current pass.

A context variable holds the changes of this pass, so that threads sharing one model never see each other's, and nothing is left in the
model afterwards. `recorder.attention_function` asks for the next change at every call; `apply.py` carries them out.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol

import torch


@dataclass(frozen=True)
class Terms:
    """What goes into one attention call, as a change sees it.

    queries          [batch, head, query, dim]
    keys, values     [batch, key head, key, dim]
    mask             [batch, 1 or head, query, key]: numbers added to the scores, or True where a query may look; None: see causal
    causal           without a mask: no query looks ahead
    blind            queries from which a change has hidden every key: [batch, head, query]
    """

    queries: torch.Tensor
    keys: torch.Tensor
    values: torch.Tensor
    mask: torch.Tensor | None
    causal: bool
    blind: torch.Tensor | None = None


class Change(Protocol):
    """What is to be changed in one attention call (`interventions/apply.py`)."""

    @property
    def needs_weights(self) -> bool:
        """Whether weights are needed, which a fused kernel does not give."""

    def before(self, terms: Terms, /) -> Terms:
        """Values and mask as they go into the softmax."""

    def after(self, output: torch.Tensor, weights: torch.Tensor | None, terms: Terms, /) -> tuple[torch.Tensor, torch.Tensor | None]:
        """Outputs [batch, query, head, dim] and weights as they leave the attention function."""


class Changes(Protocol):
    """What one pass changes, call after call, and how many calls it has made."""

    calls_made: int

    def next_change(self) -> Change | None: ...


_changes: ContextVar[Changes | None] = ContextVar("eyeline_changes", default=None)


@contextmanager
def changing(changes: Changes) -> Iterator[None]:
    """Within this block, and this thread or task alone, attention calls are changed. For one forward pass."""
    token = _changes.set(changes)
    try:
        yield
    finally:
        _changes.reset(token)


def next_change() -> Change | None:
    """What is changed in the attention call that is made now; None: nothing."""
    changes = _changes.get()
    return None if changes is None else changes.next_change()


def as_numbers(mask: torch.Tensor | None, terms: Terms) -> torch.Tensor | None:
    """A mask as numbers that are added to the scores; None where every key is seen."""
    queries, keys = terms.queries.shape[2], terms.keys.shape[2]
    if mask is None and terms.causal:
        mask = torch.ones(1, 1, queries, keys, dtype=torch.bool, device=terms.queries.device).tril()
    if mask is None or mask.dtype != torch.bool:
        return mask
    numbers = torch.zeros(mask.shape, dtype=terms.queries.dtype, device=mask.device)
    return numbers.masked_fill(~mask, torch.finfo(terms.queries.dtype).min)
