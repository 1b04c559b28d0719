"""One batch through the model and into the statistics: without maps where the attention is plain softmax, else from its maps."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch

from eyeline.analyses.corpus.batch import Batch
from eyeline.analyses.corpus.rows import Rows, rows_of_map
from eyeline.analyses.corpus.score_rows import rows_of_scores
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.capture.layer import LayerAttention, LayerScores
from eyeline.measures.kernels.one_pass import KeySets
from eyeline.models.model import Model

#: Maps of texts with at most this many tokens are computed whole.
WHOLE = 1024


def fold(
    model: Model,
    batch: Batch,
    statistics: Sequence[Statistic],
    layers: Mapping[str, tuple[int, ...]],
    *,
    streamed: bool,
    one_pass: bool = False,
) -> None:
    """Run the batch and update every statistic with every chosen layer.

    one_pass: where maps are never formed, the kernel that gives a layer's output may give the numbers of its rows along with it
    """
    no_maps = not any(statistic.reads_weights(batch) for statistic in statistics)

    def update_all(rows: Rows) -> None:
        for statistic in statistics:
            statistic.update(rows, batch)

    def from_scores(scores: LayerScores) -> None:
        if scores.layer in layers[scores.stack]:
            for rows in rows_of_scores(scores, fused=no_maps):
                update_all(rows)

    def from_map(attention: LayerAttention) -> None:
        if attention.layer in layers[attention.stack]:
            update_all(rows_of_map(attention))

    with torch.inference_mode():
        if streamed:
            sets = _key_sets(model, batch, statistics, layers) if one_pass and no_maps else None
            model.stream_scores(batch.sides, from_scores, sets)
        else:
            model.stream_layers(batch.sides, from_map, rows=_rows_at_once(batch))
    for statistic in statistics:
        statistic.finish(batch)


def _key_sets(
    model: Model, batch: Batch, statistics: Sequence[Statistic], layers: Mapping[str, tuple[int, ...]]
) -> dict[tuple[str, int], KeySets]:
    """The sets of keys that the statistics need, for every chosen layer."""
    by_layer: dict[tuple[str, int], KeySets] = {}
    for stack, chosen in layers.items():
        wanted = [sets for statistic in statistics if statistic.from_rows and (sets := statistic.key_sets(batch, stack)) is not None]
        n_texts, n_keys = len(batch.sides), max(len(keys) for _, keys in batch.texts(stack))
        none = torch.empty(n_texts, n_keys, 0, device=batch.device)
        together = KeySets.of(wanted or [none], model.hf.dtype)
        by_layer |= {(stack, layer): together for layer in chosen}
    return by_layer


def _rows_at_once(batch: Batch) -> int | None:
    """Maps of long texts come in blocks of rows."""
    longest = max(max(len(queries), len(keys)) for stack in ("encoder", "decoder") for queries, keys in batch.texts(stack))
    return None if longest <= WHOLE else max(16, WHOLE * WHOLE // longest)
