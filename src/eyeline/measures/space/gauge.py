"""Gauges: changes of queries and keys that leave attention as it is, and bring distance and attention closer together.

softmax_j(q·k_j) does not move when every key is shifted by one vector, when q → c·q and k → k/c, nor when q → q·M and k → k·M⁻ᵀ.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from eyeline.measures.space.pairs import AllPairs, TextPairs
from eyeline.measures.space.search_gauge import Agreement, search_gauge

GAUGES = ("attentionviz", "searched", "lifted", "none")
#: Of one space for all heads and layers.
SHARED_GAUGES = ("ring", "lifted", "attentionviz", "none")
#: Where the scale is searched: log c from −4 to 4, then by golden section around the best of these.
COARSE = np.linspace(-4.0, 4.0, 17)
FINER = 24
#: Directions with less than this share of all variance count as having so much, when the two sides are balanced.
FLAT = 1e-6


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
