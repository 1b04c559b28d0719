"""The formulas that every subject uses, on NumPy arrays alone: no files, no models.

`import eyeline as el` gives them as `el.mathematics.entropy(weights)`. Formulas of one subject are in that subject's folder.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from eyeline.errors import TraceError, install_hint, nearest

__all__ = [
    "AttentionRow",
    "StrongestLook",
    "attention_row",
    "bootstrap_share",
    "entropy",
    "head_outputs",
    "jensen_shannon",
    "mass_at_offset",
    "mass_on",
    "membership",
    "metric_mds",
    "pool_to_words",
    "principal_axes",
    "project",
    "strongest_look",
]


# ---- How attention is computed


@dataclass(frozen=True)
class AttentionRow:
    """One row of attention, step by step, all [key].

    dots: q·k for each key; scores: the dots times the scale; weights: softmax of the scores.
    """

    dots: np.ndarray
    scores: np.ndarray
    weights: np.ndarray


def attention_row(query: np.ndarray, keys: np.ndarray, scale: float) -> AttentionRow:
    """The attention of one query, [dim], to keys, [key, dim].

        weights[k] = exp(scale · q·k) / Σ_j exp(scale · q·j)

    >>> attention_row(np.array([1.0, 0.0]), np.array([[2.0, 0.0], [2.0, 5.0]]), 0.5).weights
    array([0.5, 0.5])
    """
    dots = keys @ query  # [key]
    scores = dots * scale
    raised = np.exp(scores - scores.max())
    return AttentionRow(dots, scores, raised / raised.sum())


def head_outputs(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """What every head writes before the output projection: the values of the tokens that it looks at, weighted by its attention.

        o[h, i] = Σ_j a[h, i, j] · v[g(h), j]        g(h) = h · key heads / heads: the key head that head h shares

    weights: [head, query, key]; values: [key head, key, dim] → [head, query, dim]

    >>> head_outputs(np.array([[[0.5, 0.5]]]), np.array([[[1.0, 0.0], [3.0, 2.0]]])).tolist()
    [[[2.0, 1.0]]]
    """
    outputs: np.ndarray = weights @ values.repeat(len(weights) // len(values), axis=0)
    return outputs


# ---- What attention maps look like


def entropy(weights: np.ndarray) -> np.ndarray:
    """Shannon entropy of each attention distribution, in nats: how broadly attention is spread.

        H[q] = − Σ_k a[q, k] · log a[q, k]        with 0 · log 0 = 0

    weights: [..., query, key], rows summing to 1 → [..., query]. 0: all weight on one key; log n: n equal weights. Rows that sum to 0
    (fully masked) give nan, so that means leave them out.

    >>> entropy(np.full((1, 4), 0.25)).round(4)
    array([1.3863])
    """
    weights = np.asarray(weights)
    logs = np.log(weights, out=np.zeros_like(weights), where=weights > 0)  # [..., query, key]
    spread = -(weights * logs).sum(axis=-1)  # [..., query]
    return np.where(weights.sum(axis=-1) > 0, spread, np.nan) + 0.0


def mass_on(weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The attention that each query gives to a set of keys.

    weights: [..., query, key]; columns: [key] of booleans → [..., query].

    >>> mass_on(np.array([[0.5, 0.3, 0.2]]), np.array([True, False, True]))
    array([0.7])
    """
    return np.asarray(weights @ np.asarray(columns).astype(weights.dtype))


def mass_at_offset(weights: np.ndarray, offset: int) -> np.ndarray:
    """The attention that each query gives to the key `offset` positions after it; 0 where there is no such key.

    weights: [..., query, key], queries and keys of one text → [..., query]. Offset 1 is the next token, −1 the previous, 0 itself.

    >>> mass_at_offset(np.array([[0.9, 0.1], [0.4, 0.6]]), -1)
    array([0. , 0.4])
    """
    n = weights.shape[-1]
    mass = np.zeros(weights.shape[:-1], dtype=weights.dtype)  # [..., query]
    rows = np.arange(max(0, -offset), min(n, n - offset))
    mass[..., rows] = weights[..., rows, rows + offset]
    return mass


def jensen_shannon(p: np.ndarray, g: np.ndarray) -> np.ndarray:
    """Jensen–Shannon divergence between two attention distributions, in nats: 0 is the same, log 2 nothing in common.

        JS(p, g) = ½ Σ p·log(p / m) + ½ Σ g·log(g / m)        m = (p + g) / 2,  0 · log 0 = 0

    p, g: [..., key], each summing to 1 → [...]; nan where either sums to 0 (a query that sees nothing).

    >>> jensen_shannon(np.array([1.0, 0.0]), np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([0.    , 0.6931])
    """
    p, g = np.asarray(p, dtype=np.float64), np.asarray(g, dtype=np.float64)
    m = (p + g) / 2
    with np.errstate(divide="ignore", invalid="ignore"):
        terms = np.where(p > 0, p * np.log(p / m), 0) + np.where(g > 0, g * np.log(g / m), 0)
    divergence = np.maximum(terms.sum(-1) / 2, 0)
    return np.asarray(np.where((p.sum(-1) > 0) & (g.sum(-1) > 0), divergence, np.nan))


# ---- Word-level attention


Groups = Sequence[Sequence[int]]


def pool_to_words(weights: np.ndarray, query_groups: Groups, key_groups: Groups) -> np.ndarray:
    """Attention between words: the sum over a word's pieces as keys, the mean over its pieces as queries.

        A'[v, w] = 1/|v| · Σ_{i ∈ v} Σ_{j ∈ w} A[i, j]

    weights: [..., query, key]; groups: the token positions of each word, every token in one group → [..., query word, key word].
    Rows that summed to 1 still do. Source: Clark et al. 2019, section 4.1.

    >>> pool_to_words(np.array([[0.5, 0.3, 0.2], [0.1, 0.5, 0.4], [0.2, 0.2, 0.6]]), [[0], [1, 2]], [[0], [1, 2]])
    array([[0.5 , 0.5 ],
           [0.15, 0.85]])
    """
    as_keys = membership(key_groups, weights.shape[-1], weights.dtype)  # [key, key word]
    as_queries = membership(query_groups, weights.shape[-2], weights.dtype)  # [query, query word]
    as_queries = as_queries / as_queries.sum(axis=0, keepdims=True)
    return np.asarray(as_queries.T @ (weights @ as_keys))  # [..., query word, key word]


def membership(groups: Groups, n: int, dtype: np.dtype) -> np.ndarray:
    """A one in row i and column g where token i is in group g: [token, group]."""
    matrix = np.zeros((n, len(groups)), dtype=dtype)
    for group, positions in enumerate(groups):
        matrix[list(positions), group] = 1
    return matrix


# ---- Where a view opens when no head is given: at the head and query with the strongest look at a distant word


#: Only keys at least this many tokens away count: attention to the token itself or to a neighbour says little.
LEAST_DISTANCE = 2

#: A key that gets more than this share of a head's attention, from all queries together, is a sink of that head.
SINK_SHARE = 0.3


@dataclass(frozen=True)
class StrongestLook:
    """Indices of a layer, a head, a query and a key; the weight of this look. Without any look the key is None and the weight 0."""

    layer: int
    head: int
    query: int
    key: int | None
    weight: float


def strongest_look(
    maps: Sequence[np.ndarray],
    query_words: np.ndarray,
    key_words: np.ndarray,
    *,
    one_text: bool = True,
    layers: Sequence[int] | None = None,
    heads: Sequence[int] | None = None,
) -> StrongestLook:
    """The head with the strongest look from a word to a word that is neither beside it nor looked at by nearly every token.

    With s(q, k) = α(q, k) where q and k are words, at least two tokens apart, and k gets at most 0.3 of the head's attention, else 0:

        head = argmax_h max_{q, k} s_h(q, k)        query = the q of that maximum        key = its k

    Without such a look: the first head and the last word.

    maps                     for each layer [head, query, key]
    query_words, key_words   [query], [key]: True for words, False for special tokens and punctuation
    one_text                 queries and keys are the same tokens, so that some of them are neighbours
    layers, heads            indices of those to choose from (all)

    >>> look = np.array([[0.2, 0.2, 0.6], [0.5, 0.5, 0.0], [0.1, 0.8, 0.1]])
    >>> strongest_look([look[None]], np.ones(3, bool), np.ones(3, bool))
    StrongestLook(layer=0, head=0, query=0, key=2, weight=0.6)
    """
    distance = np.abs(np.arange(len(query_words))[:, None] - np.arange(len(key_words)))  # [query, key]
    left_out = ((distance < LEAST_DISTANCE) & one_text) | ~key_words[None] | ~query_words[:, None]
    last = int(np.flatnonzero(query_words)[-1]) if query_words.any() else 0
    best = StrongestLook(layers[0] if layers else 0, heads[0] if heads else 0, last, None, 0.0)
    for layer in range(len(maps)) if layers is None else layers:
        weights = np.nan_to_num(maps[layer])  # [head, query, key]
        for head in range(len(weights)) if heads is None else heads:
            sink = weights[head].mean(axis=0) > SINK_SHARE  # [key]
            strength = np.where(left_out | sink, 0, weights[head])
            query, key = (int(position) for position in np.unravel_index(strength.argmax(), strength.shape))
            if strength[query, key] > best.weight:
                best = StrongestLook(layer, head, query, key, float(strength[query, key]))
    return best


# ---- Confidence intervals


#: Resamples that are drawn at once: memory stays small however many sentences there are.
RESAMPLES_AT_ONCE = 100


def bootstrap_share(hits: np.ndarray, of: np.ndarray, *, samples: int = 1000, level: float = 0.95, seed: int = 0) -> tuple[float, float]:
    """The interval in which a share lies when the units it is counted over are drawn again with replacement.

        share = Σ_s hits[s] / Σ_s of[s]        s runs over as many units as there are, drawn again in each sample

    hits, of: [unit], such as right and scored words of each sentence → low, high: the (1 − level)/2 quantiles of the samples. The same
    seed gives the same interval. Units without anything to count are legal; nothing to count at all gives nan.

    >>> bootstrap_share(np.array([1.0, 1.0]), np.array([2.0, 2.0]))
    (0.5, 0.5)
    """
    hits, of = np.asarray(hits, dtype=float), np.asarray(of, dtype=float)
    if not of.sum():
        return float("nan"), float("nan")
    random = np.random.default_rng(seed)
    shares: list[np.ndarray] = []
    for start in range(0, samples, RESAMPLES_AT_ONCE):
        drawn = random.integers(0, len(of), (min(RESAMPLES_AT_ONCE, samples - start), len(of)))  # [sample, unit]
        with np.errstate(invalid="ignore"):
            shares.append(hits[drawn].sum(1) / of[drawn].sum(1))
    edge = (1 - level) / 2
    low, high = np.nanquantile(np.concatenate(shares), [edge, 1 - edge])
    return float(low), float(high)


# ---- Points in two or three dimensions


#: How many neighbours of a point UMAP looks at by default; it needs two points more.
NEIGHBOURS = 15

#: Name → the module it needs, the package that has it, and the fewest points it makes sense of.
METHODS: dict[str, tuple[str, str, int]] = {
    "pca": ("numpy", "numpy", 3),
    "umap": ("umap", "umap-learn", NEIGHBOURS + 2),
    "tsne": ("openTSNE", "openTSNE", 92),
}

#: From this many points on, t-SNE's repulsion is interpolated on a grid instead of summed by a tree.
INTERPOLATED = 3_000


def project(points: np.ndarray, how: str, *, dims: int = 2, seed: int = 0, neighbours: int = NEIGHBOURS) -> np.ndarray:
    """Points [point, dim] → [point, dims], float32: by pca, umap or tsne. The same seed gives the same picture.

    neighbours   of each point, for umap: few where there are few points
    """
    check_method(how, len(points), neighbours)
    if how != "pca" and not np.ptp(points, axis=0).any():
        return np.zeros((len(points), dims), dtype=np.float32)  # a dead head: all points coincide
    if how == "pca":
        mean, axes = principal_axes(np.asarray(points, dtype=np.float64), dims)
        return np.asarray((points - mean) @ axes, dtype=np.float32)
    return _umap(points, dims, seed, neighbours) if how == "umap" else _tsne(points, dims, seed)


def check_method(how: str, n_points: int | None = None, neighbours: int = NEIGHBOURS) -> None:
    """Refuse an unknown projection, one whose package is missing, or too few points for it."""
    if how not in METHODS:
        raise TraceError(f"A projection named {how!r}.", nearest(how, METHODS))
    module, package, fewest = METHODS[how]
    if find_spec(module) is None:
        raise TraceError(f"The projection {how} needs {package}, which is not installed.", install_hint("embed"))
    if how == "umap":
        fewest = neighbours + 2
    if n_points is not None and n_points < fewest:
        raise TraceError(f"{n_points} points are too few for {how}.", f"It needs at least {fewest}. Give more text, or project by pca.")


def principal_axes(points: np.ndarray, dims: int) -> tuple[np.ndarray, np.ndarray]:
    """Mean and the directions of most variance of each set of points; the largest coefficient of a direction is positive.

    points: [..., point, dim] → [..., dim], [..., dim, dims]. Constant points give directions too, along which nothing varies.

    >>> principal_axes(np.array([[0.0, 1.0], [0.0, 3.0], [0.0, 5.0]]), 1)[1][:, 0]
    array([0., 1.])
    """
    mean = points.mean(-2)
    centred = points - mean[..., None, :]
    return mean, axes_of(np.swapaxes(centred, -1, -2) @ centred, dims)


def axes_of(covariance: np.ndarray, dims: int) -> np.ndarray:
    """The directions of most variance: [..., dim, dim] → [..., dim, dims]; the largest coefficient of each is positive."""
    _, vectors = np.linalg.eigh(covariance)
    axes = vectors[..., ::-1][..., :dims]  # [..., dim, dims]
    largest = np.take_along_axis(axes, np.abs(axes).argmax(-2)[..., None, :], -2)
    return np.asarray(axes * np.where(largest < 0, -1.0, 1.0))


def _umap(points: np.ndarray, dims: int, seed: int, neighbours: int) -> np.ndarray:
    import umap

    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_jobs value")  # a seed means one thread, which is what we ask for
        fitted = umap.UMAP(n_components=dims, n_neighbors=neighbours, random_state=seed, n_jobs=1).fit_transform(points)
        return np.asarray(fitted, dtype=np.float32)


def place_by_umap(points: np.ndarray, picture: np.ndarray, new: np.ndarray, *, seed: int = 0, neighbours: int = NEIGHBOURS) -> np.ndarray:
    """New points in a picture that UMAP made of other points, by umap-learn's `transform`: [new, dims], float32.

    points   [point, dim], what the picture was made of; picture: [point, dims], as `project` gave it; new: [new, dim]

    Only the neighbours of the points are found again, not their picture: it is the one given.
    """
    import umap

    check_method("umap", len(points), neighbours)
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="n_jobs value")
        reducer = umap.UMAP(n_components=picture.shape[-1], n_neighbors=neighbours, random_state=seed, n_jobs=1, n_epochs=0).fit(points)
        reducer.embedding_, reducer.n_epochs = np.asarray(picture, dtype=np.float32), None
        return np.asarray(reducer.transform(new), dtype=np.float32)


def _tsne(points: np.ndarray, dims: int, seed: int) -> np.ndarray:
    import openTSNE

    # the interpolating gradient supports at most two dimensions, and its grid costs too much for few points
    gradient = "fft" if dims < 3 and len(points) >= INTERPOLATED else "bh"
    # few points keep no second thread busy: it waits actively, and takes its core from other processes
    jobs = -1 if len(points) >= INTERPOLATED else 1
    tsne = openTSNE.TSNE(n_components=dims, random_state=seed, n_jobs=jobs, negative_gradient_method=gradient)
    return np.asarray(tsne.fit(np.asarray(points, dtype=np.float64)), dtype=np.float32)


#: What stands for a distance of zero where it divides, as in scikit-learn.
INSTEAD_OF_ZERO = 1e-5


def metric_mds(distances: np.ndarray, seed: int, starts: int = 5, most_steps: int = 1000, least_gain: float = 1e-9) -> np.ndarray:
    """Points in a plane whose distances are like given ones: metric multidimensional scaling.

    [item, item] → [item, 2]: those with the smallest stress Σ_{i<j} (d[i, j] − δ[i, j])², d in the plane, δ as given.

    SMACOF (Guttman transform), the best of several random starts:

        x′[i] = 1/n · Σ_j δ[i, j] / d[i, j] · (x[i] − x[j])

    A start ends when a step lowers its stress by less than `least_gain` of Σ_{i<j} d². Steps and starts are those of scikit-learn's MDS,
    which takes two to three times as long: it computes every pair twice and checks its input at every step. Source: de Leeuw 1977.

    >>> corners = np.array([[0.0, 1.0, 2**0.5, 1.0], [1.0, 0.0, 1.0, 2**0.5], [2**0.5, 1.0, 0.0, 1.0], [1.0, 2**0.5, 1.0, 0.0]])
    >>> points = metric_mds(corners, seed=0)
    >>> np.linalg.norm(points[0] - points[2]).round(3)
    np.float64(1.414)
    """
    from scipy.spatial.distance import squareform

    pairs = squareform(distances, checks=False)  # [pair of items]
    draw = np.random.RandomState(seed)
    results = [_from_start(draw.uniform(size=len(distances) * 2).reshape(-1, 2), pairs, most_steps, least_gain) for _ in range(starts)]
    return min(results, key=lambda result: result[1])[0]


def _from_start(points: np.ndarray, pairs: np.ndarray, most_steps: int, least_gain: float) -> tuple[np.ndarray, float]:
    """The last points of one start, and their stress."""
    from scipy.spatial.distance import pdist, squareform

    in_plane, stress = pdist(points), np.inf  # [pair of items]
    for _ in range(most_steps):
        ratios = squareform(pairs / np.where(in_plane == 0, INSTEAD_OF_ZERO, in_plane), checks=False)  # [item, item]
        points = (ratios.sum(1)[:, None] * points - ratios @ points) / len(points)
        in_plane = pdist(points)
        last, stress = stress, float(np.square(in_plane - pairs).sum())  # a product of vectors would start threads for each step
        if last - stress < least_gain * float(np.square(in_plane).sum()):
            break
    return points, stress
