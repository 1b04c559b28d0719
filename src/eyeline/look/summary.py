"""One line for each layer of a trace: how broad its attention is, and where it goes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np

from eyeline.look.stack import Stack
from eyeline.mathematics import entropy, mass_at_offset, mass_on

Measure = Callable[[np.ndarray], np.ndarray]


@dataclass(frozen=True)
class LayerSummary:
    """Means over the heads and queries of a layer.

    entropy        in nats
    shares         the share of the attention that goes to each target: previous, self, next, first token, special tokens
    most_attended  the token that receives most, and the share that it receives
    """

    layer: int
    entropy: float
    shares: Mapping[str, float]
    most_attended: str
    most_attended_share: float


def summarise(stack: Stack) -> list[LayerSummary]:
    """A summary of each layer. All have the same targets."""
    targets = _targets(stack)
    summaries = []
    for layer, weights in zip(stack.layers, stack.weights_by_layer, strict=True):  # [head, query, key]
        received = weights.mean(axis=(0, 1))  # [key]
        top = int(received.argmax())
        shares = {name: float(measure(weights).mean()) for name, measure in targets.items()}
        mean_entropy = float(np.nanmean(entropy(weights)))
        summaries.append(LayerSummary(layer, mean_entropy, shares, stack.key_text.tokens[top], float(received[top])))
    return summaries


def _targets(stack: Stack) -> dict[str, Measure]:
    """Neighbours where queries and keys are the same text, the first token, and special tokens if there are any."""
    special = np.array(stack.key_text.special)
    targets: dict[str, Measure] = {}
    if stack.query_text == stack.key_text:
        for name, offset in (("previous", -1), ("self", 0), ("next", 1)):
            if name != "next" or stack.name == "encoder":
                targets[name] = partial(mass_at_offset, offset=offset)
    targets[f"first {stack.level}"] = partial(mass_on, columns=np.arange(len(special)) == 0)
    if special.any():
        targets["special"] = partial(mass_on, columns=special)
    return targets
