"""Questions to a space: another projection of one head, new text in the same picture, and who would attend to whom anywhere."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from eyeline.capture.trace import Trace
from eyeline.errors import TraceError
from eyeline.measures.space.fidelity import nearness, rank_correlation, rank_of_most_attended
from eyeline.measures.space.gauge import distance_correlation, find_scale, lifted, shift_keys
from eyeline.measures.space.project import check_method, project

if TYPE_CHECKING:
    from eyeline.results.space.space import Space, SpaceStack, Vectors


@dataclass(frozen=True)
class HeadPicture:
    """One head by one projection: queries [query, dims], keys [key, dims]; top1, top5 and rank_correlation as in the table.

    They are nan where whole maps were not kept, in a dead head, and of values, whose picture has no queries ([0, dims])."""

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


@dataclass(frozen=True)
class Found:
    """One answer of a search: the text and position of a token, its string, and the score that it would have (see `search`)."""

    text: int
    position: int
    token: str
    score: float


@dataclass(frozen=True)
class Placed:
    """New text in the pictures of a space: queries [layer, head, query, dims], keys [layer, head, key, dims]."""

    stack: str
    queries: np.ndarray
    keys: np.ndarray


def project_head(space: Space, layer: int, head: int, how: str, gauge: str, stack: str | None, seed: int) -> HeadPicture:
    """One head by PCA, UMAP or t-SNE: its queries and keys in a gauge, or its values."""
    chosen = space.stack(stack)
    vectors = needed(chosen, "projected anew")
    place = chosen.place(layer, head)
    if space.of == "values":
        return _project_values(space, chosen, layer, head, how, seed)
    queries, keys = vectors.queries[place].astype(np.float64), vectors.keys[place].astype(np.float64)
    check_method(how, len(queries) + len(keys))
    if gauge == "lifted":
        queries, keys = lifted(queries, keys)
    elif gauge == "attentionviz":
        keys = shift_keys(queries, keys)
        rows, columns, weights = _top_pairs(chosen, place)
        dots = (queries[rows] * keys[columns]).sum(-1)
        squares = np.square(queries).sum(-1)[rows], np.square(keys).sum(-1)[columns]
        # the scale that the table has where the space was made in this gauge, else one found on the most attended pairs
        known = float(chosen.facts["scale"][place]) if space.gauge == "attentionviz" and "scale" in chosen.facts else None
        c = known or float(find_scale(lambda at: distance_correlation(dots, *squares, weights, at), ())[0])
        queries, keys = queries * c, keys / c
    elif gauge != "none":
        raise TraceError(f"A gauge named {gauge!r}.", "Choices: attentionviz, lifted, none.")
    points = project(np.concatenate([queries, keys]), how, dims=space.dims, seed=seed)
    made = points[: len(queries)], points[len(queries) :]
    return HeadPicture(chosen.name, layer, head, how, gauge, *made, *_fidelity(chosen, layer, head, *made))


def _project_values(space: Space, stack: SpaceStack, layer: int, head: int, how: str, seed: int) -> HeadPicture:
    values = needed(stack, "projected anew").values
    assert values is not None  # noqa: S101 - kept because the space is one of values
    points = project(values[stack.place(layer, head)], how, dims=space.dims, seed=seed)
    return HeadPicture(stack.name, layer, head, how, "none", points[:0], points, float("nan"), float("nan"), float("nan"))


def search(space: Space, token: int, side: str, layer: int, head: int, text: int | None, stack: str | None, top: int) -> list[Found]:
    """The queries anywhere that would most attend to a key, or the keys that a query would most attend to.

        score = scale · q·(k − k̄)        k̄ = the mean key of the head

    In the lifted space, whose keys have zero mean, the order of distances is the order of scores; so the scores themselves are compared,
    all of them: exact. What all keys share (q·k̄) no softmax sees, so that it must not decide between queries either.
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
        raise TraceError(f"The {top} first answers of a search.", "Ask for 1 or more.")
    place = chosen.place(layer, head)
    queries, keys = vectors.queries[place], vectors.keys[place] - vectors.keys[place].mean(0)
    scale = vectors.scales[place[0]]
    scores = scale * (queries @ keys[token] if side == "key" else keys @ queries[token])  # [other]
    order = np.argsort(-scores, kind="stable")[:top]
    return [Found(int(others.text[i]), int(others.position[i]), others.strings[i], float(scores[i])) for i in order]


def place_trace(space: Space, trace: Trace, stack: str | None) -> Placed:
    """The tokens of a trace (queries and keys kept, the same layers) put into the pictures by the fitted maps."""
    chosen = space.stack(stack)
    if chosen.linear is None:
        raise TraceError(
            f"A space projected by {space.project} has no place for new text.", "Make it with project='fitted': its maps place any token."
        )
    if chosen.name not in trace.stacks:
        raise TraceError(f"The trace has no {chosen.name} attention.", f"It has: {', '.join(trace.stacks)}.")
    given = trace.stacks[chosen.name]
    missing = [layer for layer in chosen.layers if layer not in given.layers]
    if missing or trace.model != space.model:
        raise TraceError(
            f"A trace of {trace.model} with layers {list(given.layers)} in a space of {space.model} with layers {list(chosen.layers)}.",
            "Trace the text with the same model and all its layers.",
        )
    layers = [given.layers.index(layer) for layer in chosen.layers]
    heads = list(chosen.heads)
    shared = [head * given.n_key_heads // given.n_heads for head in heads]
    queries, keys = given.queries[layers][:, heads], given.keys[layers][:, shared]  # [layer, head, token, dim]
    return Placed(chosen.name, queries @ chosen.linear.query + chosen.linear.offset[:, :, None], keys @ chosen.linear.key)


def needed(stack: SpaceStack, what: str) -> Vectors:
    if stack.vectors is None:
        raise TraceError(f"This space cannot be {what}: its vectors were not kept.", "Make it again, or save it with vectors.")
    return stack.vectors


def _top_pairs(stack: SpaceStack, place: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    columns = stack.top_keys[place]  # [query, TOP]
    rows = np.broadcast_to(np.arange(len(columns))[:, None], columns.shape)
    there = columns >= 0
    return rows[there], columns[there], stack.top_weights[place][there].astype(np.float64)


def _fidelity(stack: SpaceStack, layer: int, head: int, queries: np.ndarray, keys: np.ndarray) -> tuple[float, float, float]:
    """top1, top5, rank correlation over the queries that attend to some key more than to another."""
    if stack.maps is None:
        return float("nan"), float("nan"), float("nan")
    ranks, orders = [], []
    for text in range(len(stack.query_tokens.texts)):
        rows = slice(*stack.query_tokens.starts[text : text + 2])
        columns = slice(*stack.key_tokens.starts[text : text + 2])
        weights = stack.map(layer, head, text)
        near = nearness(queries[rows], keys[columns])
        visible = np.tril(np.ones(near.shape, dtype=bool)) if stack.name == "decoder" else None
        assert weights is not None  # noqa: S101 - maps were kept
        exact = weights.copy()
        place = (*stack.place(layer, head), rows)
        top = stack.top_keys[place][:, 0] - columns.start  # [query]
        seen = np.flatnonzero(stack.top_weights[place][:, 0] > stack.top_weights[place][:, 1])
        exact[seen, top[seen]] += 1  # the map's bytes may tie at the top, the list of top keys does not
        ranks.append(rank_of_most_attended(near, exact, visible))
        orders.append(rank_correlation(near, exact, visible))
    rank, order = np.concatenate(ranks), np.concatenate(orders)
    rank, order = rank[rank >= 0], order[np.isfinite(order)]
    means = [float(numbers.mean()) if len(numbers) else float("nan") for numbers in (rank == 0, rank < 5, order)]
    return means[0], means[1], means[2]
