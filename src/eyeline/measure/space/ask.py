"""Queries on a space: another projection of one head, new text in the same picture, and a search for tokens that would attend."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eyeline.errors import TraceError
from eyeline.look.trace import Trace
from eyeline.mathematics import check_method, place_by_umap, project
from eyeline.measure.space.fidelity import HeldOutOptions, TextPicture, fidelity, held_out_axes
from eyeline.measure.space.gauges import Agreement, TextPairs, gauged
from eyeline.measure.space.options import SpaceOptions, check_gauge
from eyeline.measure.space.stack import SpaceRecord, SpaceStack, Vectors, is_cross_validated, is_measured_as_it_is


@dataclass(frozen=True)
class HeadPicture:
    """One head by one projection: queries [query, dims], keys [key, dims]; top1, top5 and rank_correlation as a reader is shown them.

    held_out   how these were held out, as in a Space
    They are nan where whole maps were not kept, in a dead head, where attention was used to make a picture that cannot place other tokens,
    and for values, whose picture has no queries ([0, dims])."""

    stack: str
    layer: int
    head: int
    project: str
    gauge: str
    queries: np.ndarray
    keys: np.ndarray
    top1: float
    top5: float
    rank_correlation: float
    held_out: str = ""


@dataclass(frozen=True)
class SearchResult:
    """One answer of a search: the text and position of a token, its string, and the score that it would have (see `search`)."""

    text: int
    position: int
    token: str
    score: float


@dataclass(frozen=True)
class Placed:
    """New text in the pictures of a space: queries [layer, head, query, dims], keys [layer, head, key, dims].

    Of values there are no queries ([layer, head, 0, dims]), and `keys` are the values."""

    stack: str
    queries: np.ndarray
    keys: np.ndarray

    def __repr__(self) -> str:
        layers, heads, n_keys, _ = self.keys.shape
        return f"<text placed in a space: {self.stack}, {layers} x {heads} heads, {self.queries.shape[2]} queries and {n_keys} keys>"


def project_head(space: SpaceRecord, layer: int, head: int, how: str, gauge: str, stack: str | None, seed: int) -> HeadPicture:
    """One head by PCA, UMAP or t-SNE: its queries and keys in a gauge, or its values."""
    chosen = space.stack(stack)
    vectors = needed(chosen, "projected again")
    index = chosen.index_of(layer, head)
    if space.of == "values":
        return _project_values(space, chosen, layer, head, how, seed)
    queries, keys = vectors.queries[index].astype(np.float64), vectors.keys[index].astype(np.float64)
    check_method(how, len(queries) + len(keys))
    check_gauge(gauge)
    # the scale that the table has where the space was made in this gauge, else the one that its attention gives
    known = chosen.facts["scale"][index] if space.gauge == gauge == "attentionviz" and "scale" in chosen.facts else None
    texts = [TextPairs(*_rows(chosen, text), _weights(chosen, layer, head, text)) for text in range(len(chosen.query_tokens.texts))]
    agreement = _agreement(space, gauge)
    new_queries, new_keys, _ = gauged(queries, keys, gauge, texts, None if known is None else np.asarray(known), agreement)
    points = project(np.concatenate([new_queries, new_keys]), how, dims=space.dims, seed=seed)
    pictures = points[: len(queries)], points[len(queries) :]
    numbers, by = (float("nan"),) * 3, ""
    if chosen.maps is not None and is_cross_validated("queries-keys", how, gauge):
        options = HeldOutOptions(gauge, agreement, space.dims, seed)
        numbers, by = _held_out(chosen, queries, keys, texts, options), "texts" if len(texts) > 1 else "queries"
    elif is_measured_as_it_is("queries-keys", how, gauge):
        numbers, by = _fidelity(chosen, layer, head, *pictures), "picture"
    return HeadPicture(chosen.name, layer, head, how, gauge, *pictures, *numbers, by)


def _agreement(space: SpaceRecord, gauge: str) -> Agreement:
    """What the searched gauge looks for: the distance of the space where it was made in this gauge, else the Euclidean one."""
    options = None if space.facts is None or space.gauge != gauge else space.facts.options
    return Agreement.of(options) if isinstance(options, SpaceOptions) else Agreement(dims=space.dims)


def _held_out(
    stack: SpaceStack, queries: np.ndarray, keys: np.ndarray, texts: list[TextPairs], options: HeldOutOptions
) -> tuple[float, float, float]:
    """top1, top5, rank correlation, cross-validated."""
    every = [TextPairs(text.rows, text.columns, text.weights[None]) for text in texts]
    visible = [np.tril(np.ones(text.weights.shape, dtype=bool))[None] if stack.name == "decoder" else None for text in texts]
    unseen = held_out_axes(queries[None], keys[None], every, [text.weights for text in every], visible, options)
    return float(unseen.top1[0]), float(unseen.top5[0]), float(unseen.rank[0])


def _project_values(space: SpaceRecord, stack: SpaceStack, layer: int, head: int, how: str, seed: int) -> HeadPicture:
    values = needed(stack, "projected again").values
    assert values is not None  # noqa: S101 - kept because the space is one of values
    points = project(values[stack.index_of(layer, head)], how, dims=space.dims, seed=seed)
    return HeadPicture(stack.name, layer, head, how, "none", points[:0], points, float("nan"), float("nan"), float("nan"))


def search(
    space: SpaceRecord, token: int, side: str, layer: int, head: int, text: int | None, stack: str | None, top: int
) -> list[SearchResult]:
    """The queries anywhere that would most attend to a key, or the keys that a query would most attend to.

        score = scale · q·(k − k̄)        k̄ = the mean key of the head

    In the lifted space, whose keys have zero mean, the order of distances is the order of scores; so the scores themselves are compared,
    all of them, exactly. The term q·k̄ that all keys share does not change a softmax, so it is left out of the comparison of queries too.
    """
    chosen = space.stack(stack)
    vectors = needed(chosen, "searched")
    if side not in ("key", "query"):
        raise TraceError(
            f"A search for the {side!r}.", "Choices: key (which queries attend to it?), query (which keys does it attend to?)."
        )
    own, others = (chosen.key_tokens, chosen.query_tokens) if side == "key" else (chosen.query_tokens, chosen.key_tokens)
    if text is not None:
        if not 0 <= text < len(own.texts) or not 0 <= token < len(own.texts[text]):
            raise TraceError(f"Token {token} of text {text} is not in this space.", f"It has {len(own.texts)} texts.")
        token += int(own.starts[text])
    if not 0 <= token < len(own):
        raise TraceError(f"Token {token} of {len(own):,}.", "Tokens count from 0; with text=…, within that text.")
    if top < 1:
        raise TraceError(f"A search for {top} results.", "Ask for 1 or more.")
    index = chosen.index_of(layer, head)
    queries, keys = vectors.queries[index], vectors.keys[index] - vectors.keys[index].mean(0)
    scale = vectors.scales[index[0]]
    scores = scale * (queries @ keys[token] if side == "key" else keys @ queries[token])  # [other]
    order = np.argsort(-scores, kind="stable")[:top]
    return [SearchResult(int(others.text[i]), int(others.position[i]), others.strings[i], float(scores[i])) for i in order]


def transform_trace(space: SpaceRecord, trace: Trace, stack: str | None) -> Placed:
    """The tokens of a trace (queries and keys, or values, kept; the same layers) put into the pictures by their projections."""
    chosen = space.stack(stack)
    by_umap = space.project == "umap" and space.of != "shared" and (chosen.shifts is not None or space.of == "values")
    if chosen.linear is None and not by_umap:
        why = {
            "umap": f"the gauge {space.gauge} depends on all keys at once",
            "tsne": "t-SNE has no linear projection",
            "pca": f"the gauge {space.gauge} is not linear",
        }
        why["pca"] = "a shared space needs what enters each layer, which a trace does not hold" if space.of == "shared" else why["pca"]
        raise TraceError(
            f"New text cannot be placed in this space: {why.get(space.project, 'its projections were not kept')}.",
            "Make it with project='fitted', or with project='pca' in another gauge.",
        )
    given = trace.stack(chosen.name)
    missing = [layer for layer in chosen.layers if layer not in given.layers]
    if missing or trace.model != space.model:
        raise TraceError(
            f"A trace of {trace.model} with layers {list(given.layers)} in a space of {space.model} with layers {list(chosen.layers)}.",
            "Trace the text with the same model and all its layers.",
        )
    layers = [given.layers.index(layer) for layer in chosen.layers]
    heads = list(chosen.heads)
    shared = [head * given.n_key_heads // given.n_heads for head in heads]
    projections = chosen.linear
    if projections is None:
        values = given.values[layers][:, shared] if space.of == "values" else None
        vectors = (given.queries[layers][:, heads], given.keys[layers][:, shared]) if values is None else (values[:, :, :0], values)
        return _placed_by_umap(space, chosen, *vectors)
    key_offset = 0 if projections.key_offset is None else projections.key_offset[:, :, None]
    if space.of == "values":
        points = given.values[layers][:, shared] @ projections.key + key_offset
        return Placed(chosen.name, points[:, :, :0], points)
    queries, keys = given.queries[layers][:, heads], given.keys[layers][:, shared]  # [layer, head, token, dim]
    return Placed(chosen.name, queries @ projections.query + projections.offset[:, :, None], keys @ projections.key + key_offset)


def _placed_by_umap(space: SpaceRecord, stack: SpaceStack, queries: np.ndarray, keys: np.ndarray) -> Placed:
    """Queries and keys of a new text, [layer, head, token, dim], beside those of the space: each head's neighbours are found again."""
    kept = needed(stack, "given new text")
    seed = space.facts.options.seed if space.facts is not None and isinstance(space.facts.options, SpaceOptions) else 0
    n_heads, n_queries, dims = keys.shape[:2], queries.shape[2], stack.keys.shape[-1]
    points = np.zeros((*n_heads, n_queries + keys.shape[2], dims), dtype=np.float32)  # [layer, head, token, dims]
    for i, j in np.ndindex(*n_heads):
        if stack.queries is None or stack.shifts is None:  # of values
            assert kept.values is not None  # noqa: S101 - they are the points
            of_space, picture, new = kept.values[i, j], stack.keys[i, j], keys[i, j]
        else:
            shift, scale = stack.shifts[i, j], stack.facts["scale"][i, j]
            of_space = np.concatenate([kept.queries[i, j] * scale, (kept.keys[i, j] + shift) / scale])
            picture = np.concatenate([stack.queries[i, j], stack.keys[i, j]])
            new = np.concatenate([queries[i, j] * scale, (keys[i, j] + shift) / scale])
        points[i, j] = place_by_umap(of_space, picture, new, seed=seed)
    return Placed(stack.name, points[:, :, :n_queries], points[:, :, n_queries:])


def needed(stack: SpaceStack, what: str) -> Vectors:
    """The vectors of a stack, or an error that says what needs them."""
    if stack.vectors is None:
        raise TraceError(f"This space cannot be {what}: its vectors were not kept.", "Make it again, or save it with vectors.")
    return stack.vectors


def _rows(stack: SpaceStack, text: int) -> tuple[slice, slice]:
    """Where the queries and keys of a text lie."""
    return slice(*stack.query_tokens.starts[text : text + 2]), slice(*stack.key_tokens.starts[text : text + 2])


def _weights(stack: SpaceStack, layer: int, head: int, text: int) -> np.ndarray:
    """The attention of one text, [query, key]: its map where maps were kept, with the largest weights exact, not rounded to steps."""
    rows, columns = _rows(stack, text)
    kept = stack.map(layer, head, text)
    weights = np.zeros((rows.stop - rows.start, columns.stop - columns.start)) if kept is None else kept.astype(np.float64)
    index = (*stack.index_of(layer, head), rows)
    top, values = stack.top_keys[index], stack.top_weights[index]  # [query, TOP]
    np.minimum(weights, values[:, -1:], out=weights)  # no weight that was rounded up passes one of the largest
    query, rank = np.nonzero(top >= 0)
    weights[query, top[query, rank] - columns.start] = values[query, rank]
    return weights


def _fidelity(stack: SpaceStack, layer: int, head: int, queries: np.ndarray, keys: np.ndarray) -> tuple[float, float, float]:
    """top1, top5, rank correlation; nan where maps were not kept."""
    if stack.maps is None:
        return float("nan"), float("nan"), float("nan")

    def pictures() -> Iterator[TextPicture]:
        for text in range(len(stack.query_tokens.texts)):
            rows, columns = _rows(stack, text)
            weights = _weights(stack, layer, head, text)
            visible = np.tril(np.ones(weights.shape, dtype=bool)) if stack.name == "decoder" else None
            yield TextPicture(queries[rows], keys[columns], weights, visible)

    seen = fidelity(pictures())
    return float(seen.top1), float(seen.top5), float(seen.rank)
