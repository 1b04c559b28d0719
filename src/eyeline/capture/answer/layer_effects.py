"""What a model's answer becomes without each head of one layer."""

from __future__ import annotations

from typing import TypedDict


class LayerEffects(TypedDict):
    """One layer, as a view holds it. probabilities: of the most probable token or label when each head alone is switched off, [head]."""

    stack: str
    layer: int
    probabilities: list[float]
