"""The projections of one attention module, as matrices: from a token's vector to queries, keys and values, and from head outputs back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np

#: The stack and the number of a layer, as in `Layout.slots`.
LayerKey = tuple[str, int]


@dataclass(frozen=True)
class Projection:
    """From the layer's input to the vectors of each head: vector[h] = weight[h] · x + bias[h].

    weight   [head or key head, dim, hidden], a factor that the model puts on its queries included
    bias     [head or key head, dim], or None
    module   the name of the module of the model that does it (`model.hf.get_submodule(name)`)
    norm     whether the model normalises the vectors afterwards (Qwen 3), which is not linear
    """

    weight: np.ndarray
    bias: np.ndarray | None
    module: str
    norm: bool = False

    def of(self, inputs: np.ndarray) -> np.ndarray:
        """The vectors of every head: [token, hidden] → [head, token, dim]."""
        vectors: np.ndarray = np.einsum("hdx,tx->htd", self.weight, inputs)
        return vectors if self.bias is None else vectors + self.bias[:, None]


@dataclass(frozen=True)
class OutputProjection:
    """From head outputs to what the layer adds to the token's vector: Σ_h weight[h] · output[h] + bias.

    weight   [head, hidden, dim]
    bias     [hidden], or None
    module   the name of the module that does it
    """

    weight: np.ndarray
    bias: np.ndarray | None
    module: str

    def by_head(self, outputs: np.ndarray) -> np.ndarray:
        """What each head adds: [head, token, dim] → [head, token, hidden]. Their sum plus the bias is what the layer adds."""
        added: np.ndarray = np.einsum("hxd,htd->htx", self.weight, outputs)
        return added


@dataclass(frozen=True)
class Projections:
    """The projections of one attention module. A projection that could not be found is None, and `missing` says why, by its name.

    rotary   queries and keys are rotated by their position afterwards; projections give them as they are before
    """

    query: Projection | None
    key: Projection | None
    value: Projection | None
    output: OutputProjection | None
    rotary: bool
    missing: Mapping[str, str] = field(default_factory=dict)
