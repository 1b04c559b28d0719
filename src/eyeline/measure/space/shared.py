"""One space for all heads and layers: keys are the vectors that enter each layer, and each head's queries are pulled back to them.

    q·k = q·(W x + b) = (Wᵀ q)·x + q·b        q·b is the same for every key of a query: softmax does not depend on it

Rotary embedding turns the key of position j by R_j: q·(R_j W x) = (Wᵀ R_jᵀ q)·x depends on j, and one vector for each query cannot. So the
mean of R_j over the keys that a query sees is used. One normalisation and one projection hold for every head of every layer, so that all
pictures have the same axes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from eyeline.errors import Advice, TraceError
from eyeline.mathematics import axes_of, check_method, project
from eyeline.measure.runs.progress import ReportStep
from eyeline.measure.space.capture import CapturedStack, SharedInputs, n_texts_within, stack_fidelity, text_pairs
from eyeline.measure.space.gauges import AllPairs, balancing, find_scale, lift, lifted_off_zero
from eyeline.messages import Message

#: The most points that UMAP and t-SNE get, and in how many directions of most variance.
MOST_POINTS, DIRECTIONS = 60_000, 50


@dataclass(frozen=True)
class SharedPicture:
    """queries [layer, head, query, dims], keys [layer, head, key, dims]; lengths of the vectors that they show; facts [layer, head].

    facts: the columns of tables/space.csv, and score_correlation and score_error: how far pulled-back scores are the model's own
    """

    queries: np.ndarray
    keys: np.ndarray
    query_norms: np.ndarray
    key_norms: np.ndarray
    facts: dict[str, np.ndarray]


def shared_picture(stack: CapturedStack, how: str, gauge: str, *, dims: int, seed: int, report: ReportStep | None = None) -> SharedPicture:
    """The shared space of a stack whose inputs were kept: by pca, umap or tsne, in one gauge for all heads and layers."""
    assert stack.shared is not None  # noqa: S101 - captured because the space is a shared one
    shape = len(stack.layers), len(stack.heads)
    n_query, n_key = len(stack.query_tokens), len(stack.key_tokens)
    n_points = shape[0] * (shape[1] * n_query + n_key)
    check_method(how, n_points)
    if how != "pca" and n_points > MOST_POINTS:
        raise TraceError(
            Message("refusal.points", n=f"{n_points:,}", project=how, most=f"{MOST_POINTS:,}"),
            Advice(
                "Take fewer texts, layers or heads: limit=…, layers=…, heads=….",
                "Take fewer texts, layers or heads: --limit, --layers, --heads.",
                Message("refusal.advice.fewer_paragraphs"),
            ),
            Message("refusal.by_pca"),
        )
    layers = PulledBack(stack, stack.shared)
    chosen = _gauge(layers, gauge)
    largest = _largest(chosen, layers)
    facts = {name: np.full(shape, np.nan) for name in (*_MEASURED, "kl", "scale")}
    facts["scale"][:] = chosen.scale
    norms = np.zeros((*shape, n_query), np.float32), np.zeros((*shape, n_key), np.float32)
    moments = _Moments()
    for index, layer in enumerate(layers):
        gauged = chosen.finished(chosen.moved(layer), largest)
        for name, values in _measured(stack, index, layer, gauged).items():
            facts[name][index] = values
        norms[0][index], norms[1][index] = np.linalg.norm(layer.queries, axis=-1), np.linalg.norm(layer.keys, axis=-1)
        moments.add(gauged)
        if report is not None:
            report(index + 1, shape[0])
    if how == "pca" and chosen.keeps_scores:
        flat = _along_scores(chosen, layers, dims)
    else:
        mean, axes = moments.axes(dims if how == "pca" else DIRECTIONS)
        every = (chosen.finished(chosen.moved(layer), largest) for layer in layers)
        flat = [SharedLayer((gauged.queries - mean) @ axes, (gauged.keys - mean) @ axes) for gauged in every]
    queries = np.stack([layer.queries for layer in flat])  # [layer, head, query, direction]
    keys = np.stack([layer.keys for layer in flat])  # [layer, key, direction]
    if how != "pca":
        points = project(np.concatenate([side.reshape(-1, side.shape[-1]) for side in (queries, keys)]), how, dims=dims, seed=seed)
        queries, keys = points[: shape[0] * shape[1] * n_query].reshape(*shape, n_query, dims), points[-shape[0] * n_key :]
        keys = keys.reshape(shape[0], n_key, dims)
    return SharedPicture(queries, np.broadcast_to(keys[:, None], (*shape, n_key, dims)), *norms, facts)


def _along_scores(chosen: _Gauge, layers: PulledBack, dims: int) -> list[SharedLayer]:
    """The directions in which scores vary most (both sides have one second moment, so that PCA finds them), finished along these alone.

    A lifted picture has one direction less, and the height.
    """
    moments = _Moments()
    for layer in layers:
        moments.add(chosen.moved(layer))
    second = (moments.second(0) + moments.second(1)) / 2
    axes = axes_of(second, dims - 1 if chosen.name == "lifted" else dims)
    largest = _largest(chosen, layers, axes)
    return [chosen.finished(chosen.moved(layer, axes), largest) for layer in layers]


def _largest(chosen: _Gauge, layers: PulledBack, axes: np.ndarray | None = None) -> float:
    """The largest ‖k‖² of all layers, where the gauge needs it; otherwise 0."""
    return max(float(np.square(chosen.moved(layer, axes).keys).sum(-1).max()) for layer in layers) if chosen.keeps_scores else 0.0


#: What is measured of every head in the shared space, before it is projected.
_MEASURED = ("correlation_before", "correlation_after", "top1_full", "top5_full", "score_correlation", "score_error")


def _measured(stack: CapturedStack, index: int, layer: SharedLayer, gauged: SharedLayer) -> dict[str, np.ndarray]:
    texts, own_vectors = text_pairs(stack, index), (layer.queries, layer.keys_by_head())
    full = stack_fidelity(stack, slice(index, index + 1), gauged.queries[None], gauged.keys_by_head()[None], order=False)
    sums = [np.zeros(len(layer.queries)) for _ in range(3)]
    error = np.zeros(len(layer.queries))
    for text in range(len(stack.weights)):
        rows, columns = stack.rows(text)
        own = stack.vectors.scales[index] * stack.vectors.queries[index][:, rows].astype(np.float64)
        own = own @ np.swapaxes(stack.vectors.keys[index][:, columns], -1, -2)
        visible = stack.visible[text]
        *parts, worst = score_agreement(layer.queries[:, rows] @ layer.keys[columns].T, own, None if visible is None else visible[index])
        sums = [total + part for total, part in zip(sums, parts, strict=True)]
        error = np.maximum(error, worst)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = sums[0] / np.sqrt(sums[1] * sums[2])
    return {
        "correlation_before": AllPairs(*own_vectors, texts).correlation(),
        "correlation_after": AllPairs(*own_vectors, texts, (gauged.queries, gauged.keys_by_head())).correlation(),
        "top1_full": full.top1[0],
        "top5_full": full.top5[0],
        "score_correlation": correlation,
        "score_error": error,
    }


class _Moments:
    """Sums over the points of all layers, both sides counting the same: mean and directions of most variance."""

    def __init__(self) -> None:
        self._means: list[list[np.ndarray]] = [[], []]
        self._seconds: list[np.ndarray | float] = [0.0, 0.0]

    def add(self, layer: SharedLayer) -> None:
        for side, vectors in enumerate((layer.queries.reshape(-1, layer.queries.shape[-1]), layer.keys)):
            self._means[side].append(vectors.mean(0))
            self._seconds[side] = self._seconds[side] + vectors.T @ vectors / len(vectors)

    def mean(self, side: int) -> np.ndarray:
        return np.asarray(np.mean(self._means[side], 0))

    def second(self, side: int) -> np.ndarray:
        return np.asarray(self._seconds[side]) / len(self._means[side])

    def axes(self, dims: int) -> tuple[np.ndarray, np.ndarray]:
        mean = (self.mean(0) + self.mean(1)) / 2
        covariance = (self.second(0) + self.second(1)) / 2 - np.outer(mean, mean)
        return mean, axes_of(covariance, min(dims, len(mean)))


# ---- The layers in the shared space


@dataclass(frozen=True)
class SharedLayer:
    """One layer in the shared space: queries [head, query, hidden], keys [key, hidden], double precision."""

    queries: np.ndarray
    keys: np.ndarray

    def keys_by_head(self) -> np.ndarray:
        """[head, key, hidden], without a copy."""
        return np.broadcast_to(self.keys, (len(self.queries), *self.keys.shape))


class PulledBack:
    """The layers of a captured stack in the shared space, computed when they are read.

    Layers are read one at a time, several times: the pulled-back queries of all heads together would not fit into memory.
    """

    def __init__(self, stack: CapturedStack, shared: SharedInputs) -> None:
        self.stack, self.shared = stack, shared
        self._rotations: dict[int, Rotation | None] = {}

    def layer(self, index: int) -> SharedLayer:
        """Queries with the scale of the scores: u·x is the score, except for a term that is the same for all keys of a query."""
        keys = self.shared.inputs[index].astype(np.float64)
        queries = self.stack.vectors.queries[index].astype(np.float64)
        weight = self.shared.weights[index].astype(np.float64)
        rotation = self._rotation(index)
        if rotation is not None:
            queries = np.concatenate(list(self._turned_back(index, queries, rotation)), axis=1)
        factor = self._factor(index) if self.shared.norm else np.ones(len(queries))
        return SharedLayer(pull_back(queries * (factor * self.stack.vectors.scales[index])[:, None, None], weight), keys)

    def __iter__(self) -> Iterator[SharedLayer]:
        return (self.layer(index) for index in range(len(self.stack.layers)))

    def plain_keys(self, index: int) -> np.ndarray:
        """Keys before rotation and norm: [head, key, dim]."""
        plain = np.einsum("hdx,kx->hkd", self.shared.weights[index], self.shared.inputs[index]).astype(np.float64)
        bias = self.shared.biases[index]
        return np.asarray(plain if bias is None else plain + bias[:, None])

    def _rotation(self, index: int) -> Rotation | None:
        if not self.shared.rotary:
            return None
        if index not in self._rotations:
            turned = self.stack.vectors.keys[index].astype(np.float64)
            self._rotations[index] = measure_rotation(self.plain_keys(index), turned, self.stack.key_tokens.position)
        return self._rotations[index]

    def _turned_back(self, index: int, queries: np.ndarray, rotation: Rotation) -> Iterator[np.ndarray]:
        for text in range(len(self.stack.weights)):
            rows, columns = self.stack.rows(text)
            visible = self.stack.visible[text]
            positions = self.stack.key_tokens.position[columns]
            yield rotation.turned_back(queries[:, rows], positions, None if visible is None else visible[index])

    def _factor(self, index: int) -> np.ndarray:
        """[head]: by how much a norm lengthens the keys of a head, on the whole."""
        plain, normed = self.plain_keys(index), self.stack.vectors.keys[index]
        lengths = np.linalg.norm(plain, axis=-1), np.linalg.norm(normed, axis=-1)
        return np.asarray((lengths[0] * lengths[1]).sum(-1) / np.maximum(np.square(lengths[0]).sum(-1), 1e-30))


# ---- The gauge of all heads and layers


#: One scale for all is searched on the pairs of this many tokens.
SCALE_TOKENS = 2_000

#: The distance of queries on the ring from the middle, as a multiple of that of the farthest key.
RING = 1.5


@dataclass(frozen=True)
class _Gauge:
    """queries · forth, (keys + shift) · back, then the step of the gauge `name`. scale: c, or nan.

    lifted   one coordinate more, so that the order of distances is the order of scores
    ring     every query as far out as all others, in its own direction: the keys that lie farthest in that direction are the nearest to it.
             A query's length changes how sharply it attends, not which keys it attends to most
    """

    name: str
    shift: np.ndarray
    forth: np.ndarray
    back: np.ndarray
    scale: float

    def moved(self, layer: SharedLayer, axes: np.ndarray | None = None) -> SharedLayer:
        """Shifted and mapped; with `axes`, [hidden, direction], along these directions alone."""
        forth, back = (self.forth, self.back) if axes is None else (self.forth @ axes, self.back @ axes)
        return SharedLayer(layer.queries @ forth, (layer.keys + self.shift) @ back)

    def finished(self, moved: SharedLayer, largest: float) -> SharedLayer:
        """largest: the largest ‖k‖² of all layers."""
        if self.name == "lifted":
            return SharedLayer(*lift(moved.queries, moved.keys, largest))
        if self.name == "ring":
            lengths = np.maximum(np.linalg.norm(moved.queries, axis=-1, keepdims=True), 1e-30)
            return SharedLayer(moved.queries / lengths * (RING * np.sqrt(largest)), moved.keys)
        return moved

    @property
    def keeps_scores(self) -> bool:
        """Whether distances follow scores along fewer directions too, once these are finished alone."""
        return self.name in ("lifted", "ring")


def _gauge(layers: PulledBack, gauge: str) -> _Gauge:
    """One gauge for all heads and layers."""
    moments = _Moments()
    for layer in layers:
        moments.add(layer)
    hidden = len(moments.mean(1))
    same = np.eye(hidden)
    if gauge == "none":
        return _Gauge(gauge, np.zeros(hidden), same, same, 1.0)
    if gauge in ("lifted", "ring"):
        mean = moments.mean(1)
        keys = moments.second(1) - np.outer(mean, mean)
        forth, back = balancing(lifted_off_zero(moments.second(0)), lifted_off_zero(keys))
        return _Gauge(gauge, -mean, forth, back, float("nan"))
    shift = moments.mean(0) - moments.mean(1)
    c = _one_scale(layers, shift)
    return _Gauge(gauge, shift, same * c, same / c, c)


def _one_scale(layers: PulledBack, shift: np.ndarray) -> float:
    """The c whose mean correlation over all heads and layers is nearest −1, on the pairs of the first texts."""
    stack = layers.stack
    few = n_texts_within(stack, SCALE_TOKENS)
    pairs = [AllPairs(layer.queries, layer.keys_by_head() + shift, text_pairs(stack, index)[:few]) for index, layer in enumerate(layers)]

    def mean(c: np.ndarray) -> np.ndarray:
        correlations = np.concatenate([each.correlation(c) for each in pairs])
        return np.asarray(np.nanmean(correlations) if np.isfinite(correlations).any() else np.nan)

    return float(find_scale(mean, ())[0])


# ---- Queries pulled back, and how far their scores are the model's own


def pull_back(queries: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """u = Wᵀ q, for which u·x = q·(W x).

    queries: [..., query, dim], weight: [..., dim, hidden] → [..., query, hidden]

    >>> pull_back(np.array([[1.0, 2.0]]), np.array([[1.0, 0.0, 1.0], [0.0, 3.0, 0.0]]))
    array([[1., 6., 1.]])
    """
    return np.asarray(queries @ weight)


@dataclass(frozen=True)
class Rotation:
    """How positions turn pairs of dimensions: dimension first[p] with second[p] by the angle of turns[position, p].

    first, second   [pair]; dimensions that are in no pair are not turned
    turns           [position, pair], complex, of length 1
    """

    first: np.ndarray
    second: np.ndarray
    turns: np.ndarray

    def turned_back(self, queries: np.ndarray, positions: np.ndarray, visible: np.ndarray | None) -> np.ndarray:
        """Queries turned back by the mean rotation of the keys that each sees: [..., query, dim] → the same.

        positions   [key]; visible: [query, key], True where a query may look; None: everywhere
        """
        turns = self.turns[positions]  # [key, pair]
        if visible is None:
            mean = np.broadcast_to(turns.mean(0), (queries.shape[-2], turns.shape[1]))
        else:
            mean = visible @ turns / np.maximum(visible.sum(-1, keepdims=True), 1)  # [query, pair]
        pairs = (queries[..., self.first] + 1j * queries[..., self.second]) * mean.conj()
        result = queries.astype(np.float64, copy=True)
        result[..., self.first], result[..., self.second] = pairs.real, pairs.imag
        return result


def measure_rotation(plain: np.ndarray, turned: np.ndarray, positions: np.ndarray) -> Rotation:
    """The rotation that makes `turned` of `plain`, from the vectors alone: which dimensions are paired, and the angle at every position.

    plain, turned: [head, key, dim] before and after; positions: [key]. Pairs are halves (d, d + n/2) or neighbours (2d, 2d + 1), of all
    dimensions or of the first half or quarter; those that leave the smallest difference are taken.
    """
    candidates = []
    for share in (1, 2, 4):
        n = plain.shape[-1] // share
        for first, second in ((np.arange(n // 2), np.arange(n // 2) + n // 2), (np.arange(0, n - 1, 2), np.arange(1, n, 2))):
            before, after = (vectors[..., first] + 1j * vectors[..., second] for vectors in (plain, turned))
            products = (after * before.conj()).sum(0)  # [key, pair]
            total = np.zeros((int(positions.max()) + 1, n // 2), dtype=complex)
            np.add.at(total, positions, products)
            turns = np.where(np.abs(total) > 0, total, 1.0)
            turns /= np.abs(turns)
            rest = np.square(plain[..., n:] - turned[..., n:]).sum()
            candidates.append((np.square(np.abs(after - before * turns[positions])).sum() + rest, Rotation(first, second, turns)))
    return min(candidates, key=lambda candidate: float(candidate[0]))[1]


def score_agreement(
    scores: np.ndarray, others: np.ndarray, visible: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The sums for the correlation of two tables of scores, each query's scores less their mean over the keys that it sees.

    scores, others: [head, query, key] → Σ x·y, Σ x², Σ y² [head], and the largest difference [head]
    """
    seen = np.ones(scores.shape[-2:], dtype=bool) if visible is None else visible
    n = np.maximum(seen.sum(-1, keepdims=True), 1)

    def centred(values: np.ndarray) -> np.ndarray:
        return np.asarray(np.where(seen, values - np.where(seen, values, 0).sum(-1, keepdims=True) / n, 0))

    x, y = centred(scores), centred(others)
    return (x * y).sum((-2, -1)), np.square(x).sum((-2, -1)), np.square(y).sum((-2, -1)), np.abs(x - y).max((-2, -1), initial=0)
