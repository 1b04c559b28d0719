"""One batch through the model and into the statistics: without maps where the attention is plain softmax, else from its maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows, rows_of_map, rows_of_scores
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.prepare import shortened
from eyeline.capture.collect import Sides
from eyeline.capture.layer import LayerAttention, LayerScores
from eyeline.models.model import Model

#: How far the sums of the streamed and the dense form may lie apart, for each text of the check, before the dense form is used; a model in
#: half precision rounds its own maps.
AGREE_WITHIN, AGREE_WITHIN_HALF = 1e-3, 2e-2
#: The check reads at most so many texts and tokens.
CHECK_TEXTS, CHECK_TOKENS = 4, 256
#: Maps of at most so many tokens are made whole.
WHOLE = 1024


def fold(model: Model, batch: Batch, statistics: Sequence[Statistic], layers: Mapping[str, tuple[int, ...]], *, streamed: bool) -> None:
    """Run the batch and update every statistic with every chosen layer."""

    def hand(rows: Rows) -> None:
        for statistic in statistics:
            statistic.update(rows, batch)

    def from_scores(scores: LayerScores) -> None:
        if scores.layer in layers[scores.stack]:
            for rows in rows_of_scores(scores, fused=not any(statistic.needs_weights for statistic in statistics)):
                hand(rows)

    def from_map(attention: LayerAttention) -> None:
        if attention.layer in layers[attention.stack]:
            hand(rows_of_map(attention))

    with torch.inference_mode():
        if streamed:
            model.stream_scores(batch.sides, from_scores)
        else:
            model.stream_layers(batch.sides, from_map, rows=_rows_at_once(batch))
    for statistic in statistics:
        statistic.finish(batch)


def _rows_at_once(batch: Batch) -> int | None:
    """Maps of long texts come in blocks of rows."""
    longest = max(max(len(queries), len(keys)) for stack in ("encoder", "decoder") for queries, keys in batch.texts(stack))
    return None if longest <= WHOLE else max(16, WHOLE * WHOLE // longest)


def agree(model: Model, batch: Batch, statistics: Sequence[Statistic], layers: Mapping[str, tuple[int, ...]]) -> bool:
    """Whether the streamed form gives the same sums as the dense one on the first texts of this batch."""
    sides = tuple(
        Sides(shortened(side.source, CHECK_TOKENS), side.target and shortened(side.target, CHECK_TOKENS))
        for side in batch.sides[:CHECK_TEXTS]
    )
    tried = []
    for streamed in (True, False):
        few = Batch(sides, batch.roles, batch.device)
        fresh = [statistic.fresh() for statistic in statistics]
        fold(model, few, fresh, layers, streamed=streamed)
        tried.append([statistic.state() for statistic in fresh])
    within = AGREE_WITHIN if model.hf.dtype in (torch.float32, torch.float64) else AGREE_WITHIN_HALF
    return all(
        one.keys() == other.keys() and all(np.allclose(one[name], other[name], rtol=within, atol=within * len(sides)) for name in one)
        for one, other in zip(*tried, strict=True)
    )
