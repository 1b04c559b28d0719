"""Gauges: changes of queries and keys that leave attention as it is, and bring distance and attention closer together.

softmax_j(q·k_j) does not move when every key is shifted by one vector, when q → c·q and k → k/c, nor when q → q·M and k → k·M⁻ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from eyeline.mathematics import principal_axes

if TYPE_CHECKING:
    from eyeline.measure.space.options import SpaceOptions


@dataclass(frozen=True)
class Agreement:
    """What is correlated with the dot product: which distance, between the vectors themselves (full) or in their PCA plane.

    Whatever is searched, drawn, tabled or named as the distance of a head is this one.

    shift   what the searched gauge adds to keys: a vector, or a constant, one number for all their dimensions
    sign    which correlation it searches: the most negative one, or the strongest of either sign
    """

    distance: str = "euclidean"
    where: str = "full"
    dims: int = 2
    shift: str = "vector"
    sign: str = "negative"

    @classmethod
    def of(cls, options: SpaceOptions) -> Agreement:
        """What these options ask for."""
        return cls(options.distance, options.correlate, options.dims, options.shift, options.sign)

    def cost(self, correlation: np.ndarray) -> np.ndarray:
        """What is searched to be small: the correlation, or minus its size."""
        return np.asarray(correlation if self.sign == "negative" else -np.abs(correlation))

    def axes(self, queries: np.ndarray, keys: np.ndarray) -> np.ndarray | None:
        """The axes of the PCA plane of all queries and keys of a head, [dim, dims]; None where the distance is between the vectors."""
        return principal_axes(np.concatenate([queries, keys]), self.dims)[1] if self.where == "plane" else None

    def measured(self, queries: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """All queries and keys of a head as the distance takes them: as they are, or in their PCA plane."""
        axes = self.axes(queries, keys)
        return (queries, keys) if axes is None else (queries @ axes, keys @ axes)


#: Lengths below this count as this.
TINY = 1e-9


def distances_of(distance: str, dots: np.ndarray, query_squares: np.ndarray, key_squares: np.ndarray) -> np.ndarray:
    """The distance of queries and keys from their dot products and squared lengths, which are broadcast to them.

        euclidean: ‖q − k‖ = √(‖q‖² + ‖k‖² − 2 q·k)        cosine: 1 − q·k / (‖q‖ ‖k‖)

    >>> [distances_of(name, np.array([1.0]), np.array([1.0]), np.array([2.0])).round(3).item() for name in ("euclidean", "cosine")]
    [1.0, 0.293]
    """
    if distance == "cosine":
        return np.asarray(1 - dots / np.maximum(np.sqrt(query_squares) * np.sqrt(key_squares), TINY))
    squares = -2 * dots
    squares += query_squares
    squares += key_squares
    np.maximum(squares, 0, out=squares)
    return np.asarray(np.sqrt(squares, out=squares))


#: Where the scale is searched: log c from −4 to 4, then by golden section around the best of these.
COARSE = np.linspace(-4.0, 4.0, 17)

FINER = 24

#: Directions with less than this share of all variance count as having so much, when the two sides are balanced.
FLAT = 1e-6


def gauged(
    queries: np.ndarray,
    keys: np.ndarray,
    gauge: str,
    texts: Sequence[TextPairs],
    scale: np.ndarray | None = None,
    agreement: Agreement = Agreement(),  # noqa: B008 - a frozen record
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Queries and keys of some heads in a gauge, and the scale of each head, nan where the gauge has none.

    gauge   none · attentionviz: keys shifted, then the scale that is searched on all pairs of these texts, or the one given ·
            searched: shift and scale together, for this agreement of distance and dot product · lifted
    queries: [..., query, dim], keys: [..., key, dim] → the same, [...]
    """
    if gauge == "lifted":
        return *lifted(queries, keys), np.full(queries.shape[:-2], np.nan)  # not one number: every direction has its own
    if gauge == "none":
        return queries, keys, np.ones(queries.shape[:-2])
    if gauge == "searched":
        shift, scale, _ = searched(queries, keys, texts, agreement)
        return queries * scale[..., None, None], (keys + shift[..., None, :]) / scale[..., None, None], scale
    shifted = shift_keys(queries, keys)
    if scale is None:
        scale = find_scale(AllPairs(queries, keys, texts, (queries, shifted)).correlation, queries.shape[:-2])[0]
    return queries * scale[..., None, None], shifted / scale[..., None, None], scale


def shift_keys(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """Keys of each head, shifted so that their centroid meets the queries' centroid; every score of a query moves by one number.

        k'_j = k_j + mean(q) − mean(k)

    queries: [..., query, dim], keys: [..., key, dim] → [..., key, dim]. Source: AttentionViz (Yeh et al. 2023).

    >>> shift_keys(np.array([[1.0, 1.0]]), np.array([[0.0, 0.0], [2.0, 0.0]]))
    array([[0., 1.],
           [2., 1.]])
    """
    return np.asarray(keys + (queries.mean(-2, keepdims=True) - keys.mean(-2, keepdims=True)))


def find_scale(correlation: Callable[[np.ndarray], np.ndarray], heads: tuple[int, ...]) -> tuple[np.ndarray, np.ndarray]:
    """The c of each head whose correlation is nearest −1: log c on a grid, then golden section around the best of it.

    correlation: c [heads] → ρ [heads]. → c, ρ(c). A head whose correlation is nan everywhere (constant vectors) keeps c = 1.
    """

    def correlation_at(log_c: np.ndarray) -> np.ndarray:
        return np.asarray(np.nan_to_num(correlation(np.exp(log_c)), nan=np.inf))

    tried = np.stack([correlation_at(np.full(heads, step)) for step in COARSE])  # [step, ...]
    best = COARSE[tried.argmin(0)]  # [...]
    gold, width = (np.sqrt(5) - 1) / 2, COARSE[1] - COARSE[0]
    low, high = best - width, best + width
    left, right = high - gold * (high - low), low + gold * (high - low)
    at_left, at_right = correlation_at(left), correlation_at(right)
    for _ in range(FINER):
        down = at_left < at_right  # the lowest lies to the left
        low, high = np.where(down, low, left), np.where(down, right, high)
        new = np.where(down, high - gold * (high - low), low + gold * (high - low))
        at_new = correlation_at(new)
        left, right = np.where(down, new, right), np.where(down, left, new)
        at_left, at_right = np.where(down, at_new, at_right), np.where(down, at_left, at_new)
    middle = (low + high) / 2
    # the grid's best may be narrower than what golden section can see: whichever of the two is better
    middle = np.where(correlation_at(middle) <= tried.min(0), middle, best)
    c = np.exp(np.where(np.isinf(tried).all(0), 0.0, middle))
    return c, correlation(c)


def searched(
    queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs], agreement: Agreement
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Shift [..., dim], scale [...] and correlation [...] of every head: queries [..., query, dim], keys [..., key, dim]."""
    heads = queries.shape[:-2]
    shift, scale, correlation = np.zeros((*heads, keys.shape[-1])), np.ones(heads), np.full(heads, np.nan)
    for head in np.ndindex(*heads):
        of_head = [TextPairs(text.rows, text.columns, text.weights[head]) for text in texts]
        reached = search_gauge(queries[head], keys[head], of_head, agreement)
        shift[head], scale[head], correlation[head] = reached.shift, reached.scale, reached.correlation
    return shift, scale, correlation


def balance(queries: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """The two sides of a head with one common second moment, by q → q·M and k → k·M⁻¹ with M symmetric; dot products stay.

        M² = A^{-1/2} (A^{1/2} B A^{1/2})^{1/2} A^{-1/2}        A = E[qᵀq], B = E[kᵀk]:  M²·A·M² = B, so that M·A·M = M⁻¹·B·M⁻¹

    (M² is the geometric mean of A⁻¹ and B.) queries: [..., query, dim], keys: [..., key, dim]; directions without variance count as very
    small ones, so that M exists.

    >>> q, k = balance(np.array([[4.0], [-4.0]]), np.array([[1.0], [-1.0]]))
    >>> q.round(3).ravel(), k.round(3).ravel()
    (array([ 2., -2.]), array([ 2., -2.]))
    """
    forth, back = balancing(_moments(queries), _moments(keys))
    return queries @ forth, keys @ back


def balancing(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """M and M⁻¹ of `balance` from the second moments of queries and keys, which must be positive: [..., dim, dim]."""
    root, inverse = _power(a, 0.5), _power(a, -0.5)
    metric = inverse @ _power(root @ b @ root, 0.5) @ inverse
    return _power(metric, 0.5), _power(metric, -0.5)


def lift(queries: np.ndarray, keys: np.ndarray, largest: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Add one coordinate, so that for every query the order of distances is the order of dot products.

        k̃ = (k, √(R − ‖k‖²)), R = max ‖k‖²        q̃ = (q, 0)        ‖q̃ − k̃‖² = ‖q‖² + R − 2 q·k

    queries: [..., query, dim], keys: [..., key, dim] → the same with dim + 1. largest: R, where these are only some of the keys.

    >>> q, k = lift(np.array([[1.0, 0.0]]), np.array([[3.0, 4.0], [0.0, 0.0]]))
    >>> np.square(q - k).sum(-1)
    array([20., 26.])
    """
    squares = np.square(keys).sum(-1, keepdims=True)  # [..., key, 1]
    radius = squares.max(-2, keepdims=True) if largest is None else largest
    height = np.sqrt(np.maximum(radius - squares, 0))
    return np.concatenate([queries, np.zeros_like(queries[..., :1])], -1), np.concatenate([keys, height], -1)


def lifted(queries: np.ndarray, keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Keys centred, the two sides balanced, one coordinate added: the order of distances is then exactly the order of attention.

    queries: [..., query, dim], keys: [..., key, dim] → [..., query, dim + 1], [..., key, dim + 1]
    """
    return lift(*balance(queries, keys - keys.mean(-2, keepdims=True)))


def _moments(vectors: np.ndarray) -> np.ndarray:
    """Second moments [..., dim, dim], lifted off zero where a direction is flat; of constant zeros, the identity."""
    return lifted_off_zero(np.asarray(np.swapaxes(vectors, -1, -2) @ vectors / vectors.shape[-2]))


def lifted_off_zero(moments: np.ndarray) -> np.ndarray:
    """Second moments in which every direction has some variance: [..., dim, dim]."""
    total = np.trace(moments, axis1=-2, axis2=-1)[..., None, None]
    return np.asarray(moments + np.where(total > 0, total * FLAT, 1.0) * np.eye(moments.shape[-1], dtype=moments.dtype))


def _power(matrix: np.ndarray, exponent: float) -> np.ndarray:
    """A power of a symmetric positive matrix: [..., dim, dim]."""
    values, vectors = np.linalg.eigh(matrix)
    lowest = np.maximum(values[..., -1:] * 1e-12, np.finfo(matrix.dtype).tiny)
    return np.asarray((vectors * np.maximum(values, lowest)[..., None, :] ** exponent) @ np.swapaxes(vectors, -1, -2))


# ---- Shift and scale of a head, searched together


#: Steps of L-BFGS from each start; rounds in which the plane is computed again.
STEPS, ROUNDS = 60, 4

#: A shift is at most this many times as long as the longest vector, in each direction.
FARTHEST = 3.0


@dataclass(frozen=True)
class ShiftAndScale:
    """shift: a, [dim]; scale: c; correlation: ρ, nan in a head whose dot products do not vary"""

    shift: np.ndarray
    scale: float
    correlation: float


def search_gauge(queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs], agreement: Agreement) -> ShiftAndScale:
    """The shift and scale of one head; never worse than none. queries: [query, dim], keys: [key, dim], weights of texts [query, key].

        k' = (k + a) / c,  q' = c · q        the a (a vector, or one number) and c for which  ρ = corr_w( q·k, distance(q', k') )
                                             is nearest −1, or with sign="either" strongest

    Every pair of a query and a key of one text is weighted by its attention. q·k is the model's own dot product, without the shift: the
    term q·a does not change the softmax, and with a long enough a it would make ρ = −1 in every head and say nothing about attention.

    L-BFGS from no shift and from the shift that makes the centroids meet. In the plane, axes and shift are found in turn.
    """
    pairs = _HeadPairs(queries, keys, texts)
    none = ShiftAndScale(np.zeros(keys.shape[-1]), 1.0, agreement_of(queries, keys, queries, keys, texts, agreement))
    if not np.isfinite(none.correlation):
        return none
    reached = [none]
    centroids = queries.mean(0) - keys.mean(0)
    begins = (np.zeros_like(centroids), centroids if agreement.shift == "vector" else np.full_like(centroids, centroids.mean()))
    for begin, sign in product(begins, (1, -1) if agreement.sign == "either" else (1,)):
        shift, scale = begin, 1.0
        for _ in range(ROUNDS if agreement.where == "plane" else 1):
            axes = agreement.axes(queries * scale, (keys + shift) / scale)
            shift, scale = pairs.search(shift, scale, axes, agreement, sign)
            gauged = queries * scale, (keys + shift) / scale
            reached.append(ShiftAndScale(shift, scale, agreement_of(queries, keys, *gauged, texts, agreement)))
    finite = [each for each in reached if np.isfinite(each.correlation)]
    return min(finite, key=lambda each: float(agreement.cost(np.array(each.correlation))))


def agreement_of(
    queries: np.ndarray, keys: np.ndarray, new_queries: np.ndarray, new_keys: np.ndarray, texts: Sequence[TextPairs], agreement: Agreement
) -> float:
    """ρ of the dot products of one head as the model has them and distances in a gauge: −1 is best; nan where either does not vary.

    queries, keys: [query, dim], [key, dim]; new_queries, new_keys: the same in the gauge, which may have another number of dimensions
    """
    return _HeadPairs(queries, keys, texts).correlation(*agreement.measured(new_queries, new_keys), agreement.distance)


class _HeadPairs:
    """The pairs of one head with their own dot products."""

    def __init__(self, queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs]) -> None:
        self.queries, self.keys = queries, keys
        self.texts = [(text.rows, text.columns, np.asarray(text.weights, dtype=np.float64)) for text in texts]
        self.total = sum(float(weights.sum()) for *_, weights in self.texts)
        dots = [queries[rows] @ keys[columns].T for rows, columns, _ in self.texts]
        mean = self._mean(dots)
        self.dots = [each - mean for each in dots]  # from their mean
        self.variance = self._mean([each * each for each in self.dots])
        self.is_flat = not self.total or self.variance <= NO_VARIATION * (self.variance + mean * mean)

    def _mean(self, values: Sequence[np.ndarray]) -> float:
        if not self.total:
            return 0.0
        return sum(float((weights * each).sum()) for (*_, weights), each in zip(self.texts, values, strict=True)) / self.total

    def correlation(self, queries: np.ndarray, keys: np.ndarray, distance: str) -> float:
        return float("nan") if self.is_flat else self._rho(self._distances(queries, keys, distance))[0]

    def search(
        self, shift: np.ndarray, scale: float, axes: np.ndarray | None, agreement: Agreement, sign: int = 1
    ) -> tuple[np.ndarray, float]:
        """a and c from here with the lowest sign · ρ; with `axes`, [dim, dims], distances are those in that plane; a moves within it."""
        from scipy.optimize import minimize  # takes a third of a second, which only a search should cost

        queries, keys = (self.queries, self.keys) if axes is None else (self.queries @ axes, self.keys @ axes)
        ones = np.ones_like(shift) if axes is None else axes.sum(0)  # what a constant adds, [direction]
        is_constant = agreement.shift == "constant"
        begin = shift[:1] if is_constant else shift if axes is None else shift @ axes
        reach = FARTHEST * max(float(np.abs(queries).max()), float(np.abs(keys).max()), TINY)
        bounds = [(-max(reach, abs(value)), max(reach, abs(value))) for value in begin] + [(-4.0, 4.0)]

        def value(parameters: np.ndarray) -> tuple[float, np.ndarray]:
            moved = parameters[:1] * ones if is_constant else parameters[:-1]
            rho, gradient = self._value(np.append(moved, parameters[-1]), queries, keys, agreement.distance)
            if is_constant:
                gradient = np.array([gradient[:-1] @ ones, gradient[-1]])
            return sign * rho, sign * gradient

        result = minimize(
            value,
            np.append(begin, np.log(scale)),
            jac=True, method="L-BFGS-B", bounds=bounds, options={"maxiter": STEPS},
        )  # fmt: skip
        moved = result.x[:-1]
        if is_constant:
            return np.full_like(shift, moved[0]), float(np.exp(result.x[-1]))
        return (moved if axes is None else shift + axes @ (moved - begin)), float(np.exp(result.x[-1]))

    def _distances(self, queries: np.ndarray, keys: np.ndarray, distance: str) -> list[np.ndarray]:
        q, k = np.square(queries).sum(-1), np.square(keys).sum(-1)
        distances = []
        for rows, columns, _ in self.texts:
            distances.append(distances_of(distance, queries[rows] @ keys[columns].T, q[rows][:, None], k[columns]))
        return distances

    def _rho(self, distances: Sequence[np.ndarray]) -> tuple[float, float, float]:
        """ρ, and the mean and the variance of the distances."""
        mean = self._mean(distances)
        variance = self._mean([np.square(each - mean) for each in distances])
        if variance <= NO_VARIATION * (variance + mean * mean):
            return float("nan"), mean, variance
        product = self._mean([dots * (each - mean) for dots, each in zip(self.dots, distances, strict=True)])
        return product / np.sqrt(self.variance * variance), mean, variance

    def _value(self, parameters: np.ndarray, queries: np.ndarray, keys: np.ndarray, distance: str) -> tuple[float, np.ndarray]:
        """ρ at a and log c, and its gradient."""
        shift, square = parameters[:-1], float(np.exp(2 * parameters[-1]))
        moved = keys + shift
        c = np.sqrt(square)
        distances = self._distances(queries * c, moved / c, distance)
        rho, mean, variance = self._rho(distances)
        gradient = np.zeros_like(parameters)
        if not np.isfinite(rho):
            return 0.0, gradient
        q, k = np.square(queries).sum(-1), np.square(moved).sum(-1)
        for (rows, columns, weights), dots, each in zip(self.texts, self.dots, distances, strict=True):
            by_distance = weights / self.total * (dots / np.sqrt(self.variance * variance) - rho * (each - mean) / variance)
            if distance == "cosine":
                lengths = np.maximum(np.sqrt(q[rows])[:, None] * np.sqrt(k[columns]), TINY)
                by_dot = -by_distance / lengths
                by_key = by_distance * (1 - each) / np.maximum(k[columns], TINY)
            else:
                by_square = by_distance / (2 * np.maximum(each, TINY))
                by_dot, by_key = -2 * by_square, 2 * by_square / square
                gradient[-1] += float((by_square * (2 * square * q[rows][:, None] - 2 * k[columns] / square)).sum())
            gradient[:-1] += by_dot.sum(1) @ queries[rows] + by_key.sum(0) @ moved[columns]
        return rho, gradient


# ---- The correlation of dot product and distance


#: A side that varies by less than this share of its size does not vary: that is what rounding leaves of a constant.
NO_VARIATION = 1e-12


@dataclass(frozen=True)
class TextPairs:
    """One text among several: which rows its queries and keys are, and how much each pair counts. weights: [..., query, key]."""

    rows: slice
    columns: slice
    weights: np.ndarray


class AllPairs:
    """Every pair of a query and a key of one text, in some heads, each weighted by its attention.

        ρ(c) = corr_w( q·k, ‖c·q' − k'/c‖ )        ‖c·q' − k'/c‖² = c²‖q'‖² + ‖k'‖²/c² − 2 q'·k'

    queries, keys   q and k of all texts, [..., query, dim] and [..., key, dim]; the weights of each text [..., query, key]
    moved           q' and k', the same in a gauge, which may have another number of dimensions; q and k unless given

    The correlation is made of sums over pairs, text after text, so that all pairs count and none need be sampled.
    """

    def __init__(
        self, queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs], moved: tuple[np.ndarray, np.ndarray] | None = None
    ) -> None:
        self.texts = texts
        self.dots = _dot_products(queries, keys, texts)
        self.moved_dots = self.dots if moved is None else _dot_products(*moved, texts)
        self.query_squares, self.key_squares = (np.square(side).sum(-1) for side in moved or (queries, keys))  # [..., query], [..., key]
        heads = queries.shape[:-2]
        self.total, mean, squares = np.zeros(heads), np.zeros(heads), np.zeros(heads)
        for text, dots in zip(texts, self.dots, strict=True):
            self.total += text.weights.sum((-2, -1), dtype=np.float64)
            mean += _sum(text.weights, dots)
        with np.errstate(invalid="ignore", divide="ignore"):
            self.mean = mean / self.total
            for text, dots in zip(texts, self.dots, strict=True):
                squares += _sum(text.weights, np.square(dots - self.mean[..., None, None]))
            self.variance = squares / self.total

    def correlation(self, c: np.ndarray | float = 1.0) -> np.ndarray:
        """ρ(c) of each head: c [...] → [...]; −1 is best. nan where either side does not vary."""
        squared = np.broadcast_to(np.square(c), self.total.shape)[..., None]
        around = np.sqrt(np.maximum(self._mean_square(squared[..., 0]), 0))[..., None, None]  # near the mean distance: less rounding
        sums = [np.zeros(self.total.shape) for _ in range(3)]
        for text, dots, moved_dots in zip(self.texts, self.dots, self.moved_dots, strict=True):
            q, k = squared * self.query_squares[..., text.rows], self.key_squares[..., text.columns] / squared
            distances = distances_of("euclidean", moved_dots, q[..., None], k[..., None, :])
            distances -= around
            weighted = text.weights * distances
            sums[0] += weighted.sum((-2, -1))
            sums[1] += _sum(weighted, distances)
            sums[2] += _sum(weighted, dots - self.mean[..., None, None])
        with np.errstate(invalid="ignore", divide="ignore"):
            shift, second, product = (total / self.total for total in sums)
            variance = second - np.square(shift)
            mean = shift + around[..., 0, 0]
            flat = (self.variance <= NO_VARIATION * (self.variance + np.square(self.mean))) | (
                variance <= NO_VARIATION * (variance + np.square(mean))
            )
            return np.asarray(np.where(flat, np.nan, product / np.sqrt(self.variance * variance)))

    def _mean_square(self, squared: np.ndarray) -> np.ndarray:
        """The mean of the squared distances: sums alone."""
        total = np.zeros(self.total.shape)
        for text, dots in zip(self.texts, self.moved_dots, strict=True):
            total -= 2 * _sum(text.weights, dots)
            total += (text.weights.sum(-1) * self.query_squares[..., text.rows]).sum(-1) * squared
            total += (text.weights.sum(-2) * self.key_squares[..., text.columns]).sum(-1) / squared
        with np.errstate(invalid="ignore", divide="ignore"):
            return np.asarray(np.nan_to_num(total / self.total))


def _dot_products(queries: np.ndarray, keys: np.ndarray, texts: Sequence[TextPairs]) -> list[np.ndarray]:
    """Of each text, [..., query, key]."""
    return [queries[..., text.rows, :] @ np.swapaxes(keys[..., text.columns, :], -1, -2) for text in texts]


def _sum(weights: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Σ w·x over the pairs of a text: [..., query, key] both → [...]."""
    return np.asarray(np.einsum("...qk,...qk->...", weights, values, dtype=np.float64))
