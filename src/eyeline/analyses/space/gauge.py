"""The gauge of every head of a captured stack: how distance and dot product correlate in it, and a check that attention has not changed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from eyeline.analyses.space.capture import CapturedStack
from eyeline.errors import TraceError, nearest
from eyeline.measures.space.gauge import GAUGES, find_scale, gauged, shift_keys
from eyeline.measures.space.pairs import AllPairs, TextPairs
from eyeline.measures.space.search_gauge import Agreement, agreement_of

#: How many pairs of a query and a key the figure shows, and in how many heads, spread over the model.
SHOWN_PAIRS, SHOWN_HEADS = 300, 9
#: Shift and scale are searched on the first texts, up to this many tokens.
SEARCH_TOKENS = 2_000


def check_gauge(gauge: str) -> None:
    """Refuse a name that is not a gauge."""
    if gauge not in GAUGES:
        raise TraceError(f"A gauge named {gauge!r}.", nearest(gauge, GAUGES))


@dataclass(frozen=True)
class Pairs:
    """Some queries and keys of one text each, with the attention between them: what a figure shows.

    query, key  [pair]: rows of the stack's vectors
    weights     [layer, head, pair]
    """

    query: np.ndarray
    key: np.ndarray
    weights: np.ndarray

    def numbers(self, queries: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """q·k, ‖q‖² and ‖k‖² of each pair: [..., pair] from vectors [..., row, dim]."""
        q, k = queries[..., self.query, :], keys[..., self.key, :]
        return np.einsum("...pd,...pd->...p", q, k), np.square(q).sum(-1), np.square(k).sum(-1)


@dataclass(frozen=True)
class LayerGauge:
    """One layer in its gauge: queries and keys [head, row, dim], double precision; scale, before and after of each head [head]."""

    queries: np.ndarray
    keys: np.ndarray
    scale: np.ndarray
    before: np.ndarray
    after: np.ndarray


def some_pairs(stack: CapturedStack, seed: int) -> Pairs:
    """All keys of some queries, drawn with the seed; queries that see only one key are left out."""
    draw = np.random.default_rng(seed)
    query: list[np.ndarray] = []
    key: list[np.ndarray] = []
    weights: list[np.ndarray] = []
    size = 0
    for row in draw.permutation(len(stack.query_tokens)):
        text, position = int(stack.query_tokens.text[row]), int(stack.query_tokens.position[row])
        visible = stack.visible[text]
        seen = np.flatnonzero(visible[0, position]) if visible is not None else np.arange(stack.weights[text].shape[-1])
        if len(seen) < 2:
            continue
        query.append(np.full(len(seen), row))
        key.append(seen + int(stack.key_tokens.starts[text]))
        weights.append(stack.weights[text][:, :, position, seen])
        size += len(seen)
        if size >= SHOWN_PAIRS:
            break
    if not query:
        raise TraceError("No query of these texts sees two keys.", "A picture needs texts of at least two tokens.")
    return Pairs(np.concatenate(query), np.concatenate(key), np.concatenate(weights, -1).astype(np.float64))


def text_pairs(stack: CapturedStack, layer: int) -> list[TextPairs]:
    """Every text with the attention of one layer, [head, query, key]; queries that see fewer than two keys count nothing."""
    texts = []
    for text, all_weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        weights = np.nan_to_num(all_weights[layer])  # [head, query, key]
        visible = stack.visible[text]
        n_seen = visible[layer].sum(-1) if visible is not None else np.full(weights.shape[1], weights.shape[2])  # [query]
        if (n_seen < 2).any():
            weights = weights * (n_seen >= 2)[:, None]
        texts.append(TextPairs(rows, columns, weights))
    return texts


def shared_scale(stack: CapturedStack) -> float:
    """One c for every layer and head: the mean over heads of the correlation is nearest −1."""

    def mean(c: np.ndarray) -> np.ndarray:
        correlations = []
        for layer in range(len(stack.layers)):  # one layer at a time: the dot products of all of them would not fit
            queries, keys = vectors_of(stack, layer)
            correlations.append(AllPairs(queries, keys, text_pairs(stack, layer), (queries, shift_keys(queries, keys))).correlation(c))
        return np.asarray(np.nanmean(correlations) if np.isfinite(correlations).any() else np.nan)

    return float(find_scale(mean, ())[0])


def gauge_layer(
    stack: CapturedStack,
    layer: int,
    gauge: str,
    c: float | None = None,
    agreement: Agreement = Agreement(),  # noqa: B008 - frozen
) -> LayerGauge:
    """The layer at this index in the gauge; `c` where one scale was found for all.

    Before and after are correlations of the dot product as the model has it with the distance between its vectors, and between those in
    the gauge; of the searched gauge, with the distance that was searched for.
    """
    queries, keys = vectors_of(stack, layer)
    texts = text_pairs(stack, layer)
    scale = None if c is None else np.full(len(queries), c)
    if gauge == "searched":
        few = texts[: n_texts_within(stack, SEARCH_TOKENS)]
        new_queries, new_keys, scale = gauged(queries, keys, gauge, few, None, agreement)
        before, after = (agreement_by_head(queries, keys, *new, texts, agreement) for new in ((queries, keys), (new_queries, new_keys)))
        return LayerGauge(new_queries, new_keys, scale, before, after)
    before = AllPairs(queries, keys, texts).correlation()
    new_queries, new_keys, scale = gauged(queries, keys, gauge, texts, scale)
    after = before if gauge == "none" else AllPairs(queries, keys, texts, (new_queries, new_keys)).correlation()
    return LayerGauge(new_queries, new_keys, scale, before, after)


def n_texts_within(stack: CapturedStack, tokens: int) -> int:
    """How many of the first texts fit into this many tokens together; at least one."""
    return max(1, int(np.searchsorted(stack.query_tokens.starts, tokens, side="right")) - 1)


def agreement_by_head(
    queries: np.ndarray, keys: np.ndarray, new_queries: np.ndarray, new_keys: np.ndarray, texts: list[TextPairs], agreement: Agreement
) -> np.ndarray:
    """[head]: `agreement_of` every head of a layer, [head, query, dim] and so on."""
    by_head = [[TextPairs(text.rows, text.columns, text.weights[head]) for text in texts] for head in range(len(queries))]
    heads = zip(queries, keys, new_queries, new_keys, by_head, strict=True)
    return np.array([agreement_of(*head, agreement) for head in heads])


def shown_heads(stack: CapturedStack) -> list[tuple[int, int]]:
    """The indices (layer, head) of the heads whose pairs the figure shows: evenly spread over layers and heads."""
    n_layers, n_heads = len(stack.layers), len(stack.heads)
    steps = np.unique(np.linspace(0, n_layers * n_heads - 1, min(SHOWN_HEADS, n_layers * n_heads)).round().astype(int))
    return [(int(step) // n_heads, int(step) % n_heads) for step in steps]


def pair_rows(stack: CapturedStack, layer: int, layer_gauge: LayerGauge, pairs: Pairs) -> list[dict[str, float]]:
    """Dot product, and distance as the model has its vectors and in the gauge, of some pairs of the heads of this layer that are shown."""
    few = Pairs(pairs.query[:SHOWN_PAIRS], pairs.key[:SHOWN_PAIRS], pairs.weights[..., :SHOWN_PAIRS])
    rows: list[dict[str, float]] = []
    for shown_layer, head in shown_heads(stack):
        if shown_layer != layer:
            continue
        raw = few.numbers(stack.vectors.queries[layer, head].astype(np.float64), stack.vectors.keys[layer, head].astype(np.float64))
        new = few.numbers(layer_gauge.queries[head], layer_gauge.keys[head])
        columns = {"layer": np.full(len(raw[0]), stack.layers[layer]), "head": np.full(len(raw[0]), stack.heads[head])}
        columns |= {"weight": few.weights[layer, head]}
        for name, (dots, query_squares, key_squares) in (("before", raw), ("after", new)):
            distances = np.sqrt(np.maximum(query_squares + key_squares - 2 * dots, 0))
            columns |= {f"dot_{name}": raw[0], f"distance_{name}": distances}  # the dot product is the model's own in both
        rows += [dict(zip(columns, values, strict=True)) for values in zip(*columns.values(), strict=True)]
    return rows


def gauge_error(stack: CapturedStack, layer: int, layer_gauge: LayerGauge) -> float:
    """The largest difference between the model's attention and attention recomputed from the gauged vectors.

    Where attention is more than a softmax of q·k (a position bias, a softcap), what is added to the model's own scores is kept.
    """
    worst, scale = 0.0, stack.vectors.scales[layer]
    for text, all_weights in enumerate(stack.weights):
        rows, columns = stack.rows(text)
        weights = all_weights[layer].astype(np.float64)  # [head, query, key]
        scores = scale * layer_gauge.queries[:, rows] @ np.swapaxes(layer_gauge.keys[:, columns], -1, -2)
        if not stack.plain:
            q, k = stack.vectors.queries[layer][:, rows], stack.vectors.keys[layer][:, columns]
            with np.errstate(divide="ignore"):
                scores += np.log(weights) - scale * q.astype(np.float64) @ np.swapaxes(k, -1, -2)
        visible = stack.visible[text]
        if visible is not None:
            scores = np.where(visible[layer], scores, -np.inf)
        highest = scores.max(-1, keepdims=True)
        e = np.exp(scores - np.where(np.isfinite(highest), highest, 0))
        total = e.sum(-1, keepdims=True)
        recomputed = np.divide(e, total, out=np.zeros_like(e), where=total > 0)
        if not stack.plain:
            recomputed *= weights.sum(-1, keepdims=True)  # less than 1 where a sink takes the rest
        seeing = total[..., 0] > 0
        worst = max(worst, float(np.abs(recomputed - weights)[seeing].max(initial=0)))
    return worst


def vectors_of(stack: CapturedStack, layer: int) -> tuple[np.ndarray, np.ndarray]:
    """Queries and keys of a layer in double precision: [head, query, dim], [head, key, dim]."""
    return stack.vectors.queries[layer].astype(np.float64), stack.vectors.keys[layer].astype(np.float64)
