"""One batch through the model and into the statistics: without maps where the attention is plain softmax, else from its maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows, rows_of_map
from eyeline.analyses.corpus.score_rows import rows_of_scores
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.capture.layer import LayerAttention, LayerScores
from eyeline.models.model import Model

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
        statistic.settle()
        statistic.finish(batch)


def _rows_at_once(batch: Batch) -> int | None:
    """Maps of long texts come in blocks of rows."""
    longest = max(max(len(queries), len(keys)) for stack in ("encoder", "decoder") for queries, keys in batch.texts(stack))
    return None if longest <= WHOLE else max(16, WHOLE * WHOLE // longest)
