"""Every gauge compared with no gauge, on some heads of a stack: how closely distance follows the dot product, before and after."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np

from eyeline.analyses.space.capture import CapturedStack
from eyeline.analyses.space.gauge import n_texts_within, shown_heads, text_pairs, vectors_of
from eyeline.measures.space.gauge import gauged
from eyeline.measures.space.pairs import TextPairs
from eyeline.measures.space.search_gauge import DISTANCES, WHERE, Agreement, agreement_of
from eyeline.results.space.gauge_row import GaugeRow

#: The gauges that are compared, and on how many tokens of the first texts.
TRIED, TOKENS = ("attentionviz", "searched", "lifted"), 500


def gauge_rows(stack: CapturedStack, dims: int) -> list[GaugeRow]:
    """A row for each gauge and distance, in all dimensions and in the PCA plane; the searched gauge is searched for each of them."""
    few = n_texts_within(stack, TOKENS)
    correlations: dict[tuple[str, str, str], list[tuple[float, float]]] = {}
    for layer, head in shown_heads(stack):
        queries, keys = (vectors[head] for vectors in vectors_of(stack, layer))
        texts = [TextPairs(text.rows, text.columns, text.weights[head]) for text in text_pairs(stack, layer)[:few]]
        end = max(text.rows.stop for text in texts), max(text.columns.stop for text in texts)
        queries, keys = queries[: end[0]], keys[: end[1]]
        for gauge, distance, where in product(TRIED, DISTANCES, WHERE):
            agreement = Agreement(distance, where, dims)
            new_queries, new_keys, _ = gauged(queries, keys, gauge, texts, None, agreement)
            before = agreement_of(queries, keys, queries, keys, texts, agreement)
            after = agreement_of(queries, keys, new_queries, new_keys, texts, agreement)
            correlations.setdefault((gauge, distance, where), []).append((before, after))
    tokens = int(stack.query_tokens.starts[few])
    return [replace(_row(stack.name, *key, np.array(numbers)), tokens=tokens) for key, numbers in correlations.items()]


def _row(stack: str, gauge: str, distance: str, where: str, numbers: np.ndarray) -> GaugeRow:
    """numbers: [head, (before, after)]; heads without a correlation are left out."""
    known = numbers[np.isfinite(numbers).all(1)]
    if not len(known):
        return GaugeRow(stack, gauge, distance, where, float("nan"), float("nan"), 0, 0)
    before, after = known.mean(0)
    return GaugeRow(stack, gauge, distance, where, float(before), float(after), len(known), int((known[:, 1] > known[:, 0] + 1e-9).sum()))
