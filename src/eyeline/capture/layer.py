"""One layer's attention on one batch: what capture gives to a receiver, one at a time."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch

from eyeline.errors import TraceError
from eyeline.measures.kernels.one_pass import RowNumbers


@dataclass(frozen=True)
class LayerAttention:
    """Tensors of one layer, still padded, on the model's device. Copy what you keep: the tensors are freed when the next layer comes.

    stack, layer    "encoder", "decoder" or "cross", and the number that the model gives to the layer
    weights         [batch, head, query, key]
    queries         [batch, head, query, dim], after rotary embedding; None outside the attention interface, as keys and values
    keys, values    [batch, key head, key, dim]
    mask            [batch, 1 or head, query, key], added to the scores; None: nothing is masked
    bias            [1 or batch, head, query, key], added to the scores (T5); None elsewhere
    scale           what q·k is multiplied with
    n_queries       the true number of queries of each text in the batch: rows beyond it are padding
    n_keys          the same for keys
    first           the first of the rows, where the rows of a long text come in blocks (`in_blocks`)
    """

    stack: str
    layer: int
    weights: torch.Tensor
    n_queries: tuple[int, ...]
    n_keys: tuple[int, ...]
    queries: torch.Tensor | None = None
    keys: torch.Tensor | None = None
    values: torch.Tensor | None = None
    mask: torch.Tensor | None = None
    bias: torch.Tensor | None = None
    scale: float | None = None
    first: int = 0
    in_blocks: bool = False

    def __post_init__(self) -> None:
        batch, _, n_query, n_key = self.weights.shape
        rows_fit = n_query <= max(self.n_queries) if self.in_blocks else n_query == max(self.n_queries)
        if batch != len(self.n_queries):
            raise TraceError(
                f"A batch of {batch}, where {len(self.n_queries)} was expected.",
                "Give the tensors of one text at a time: shape [1, tokens].",
            )
        if not rows_fit or n_key != max(self.n_keys):
            raise TraceError(
                f"Attention of {n_query} queries and {n_key} keys for a text of {max(self.n_queries)} and {max(self.n_keys)}.",
                "Attention must cover the tokens one to one (no windows, no pooling).",
            )


@dataclass(frozen=True)
class LayerScores:
    """What one layer's plain softmax attention is computed from: softmax(scale · q·kᵀ + mask + bias). The map itself is never formed.

    mask      [batch, 1 or head, query, key], True where a query may look, or numbers added to the scores; None: see causal
    causal    where there is no mask: no query looks ahead
    numbers   of every row, where they were requested and came with the layer's output
    The rest is as in LayerAttention.
    """

    stack: str
    layer: int
    queries: torch.Tensor
    keys: torch.Tensor
    mask: torch.Tensor | None
    bias: torch.Tensor | None
    scale: float
    causal: bool
    n_queries: tuple[int, ...]
    n_keys: tuple[int, ...]
    numbers: RowNumbers | None = None


Receive = Callable[[LayerAttention], None]
ReceiveScores = Callable[[LayerScores], None]
