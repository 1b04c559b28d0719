"""How far a picture can be trusted: whether near means attends. Each query is compared with those keys of its own text that it may see."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eyeline.mathematics import principal_axes
from eyeline.measure.space.gauges import Agreement, TextPairs, gauged


@dataclass(frozen=True)
class TextPicture:
    """One text in a picture. queries: [..., query, dims], keys: [..., key, dims], weights: [..., query, key]; visible: broadcast to them,
    True where a query may look; None: everywhere."""

    queries: np.ndarray
    keys: np.ndarray
    weights: np.ndarray
    visible: np.ndarray | None = None


@dataclass(frozen=True)
class Fidelity:
    """Of each head [...]; nan where no query attends to some key more than to another.

    top1, top5   how often the nearest key of a query, or one of the five nearest, is its most attended
    rank         the mean rank correlation of nearness and attention
    hits, of     of each query of all texts [query], added up over heads: how often its nearest key is the most attended, of how many heads
    """

    top1: np.ndarray
    top5: np.ndarray
    rank: np.ndarray
    hits: np.ndarray
    of: np.ndarray


def fidelity(texts: Iterable[TextPicture], heads: tuple[int, ...] = (), *, order: bool = True) -> Fidelity:
    """How far a picture can be trusted, over all queries of these texts. order: whether the rank correlation is wanted."""
    first, five, ranks, n_queries, ordered = (np.zeros(heads) for _ in range(5))
    hits: list[np.ndarray] = []
    of: list[np.ndarray] = []
    for text in texts:
        near = nearness(text.queries, text.keys)
        rank = rank_of_most_attended(near, text.weights, text.visible)
        first += (rank == 0).sum(-1)
        five += ((rank >= 0) & (rank < 5)).sum(-1)
        n_queries += (rank >= 0).sum(-1)
        every_head = tuple(range(rank.ndim - 1))
        hits.append((rank == 0).sum(every_head))
        of.append((rank >= 0).sum(every_head))
        if order:
            correlation = rank_correlation(near, text.weights, text.visible)
            ordered += np.isfinite(correlation).sum(-1)
            ranks += np.nan_to_num(correlation).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        shares = np.asarray(first / n_queries), np.asarray(five / n_queries), np.asarray(ranks / ordered)
    return Fidelity(*shares, np.concatenate(hits) if hits else np.zeros(0), np.concatenate(of) if of else np.zeros(0))


def nearness(queries: np.ndarray, keys: np.ndarray) -> np.ndarray:
    """What orders the keys of each query by distance, the nearest highest:  2 x·y − ‖y‖² = ‖x‖² − ‖x − y‖².

    queries: [..., query, dims], keys: [..., key, dims] → [..., query, key]

    >>> nearness(np.array([[0.0, 0.0]]), np.array([[1.0, 0.0], [0.0, 2.0]]))
    array([[-1., -4.]])
    """
    return np.asarray(2 * queries @ np.swapaxes(keys, -1, -2) - np.square(keys).sum(-1)[..., None, :])


def rank_of_most_attended(near: np.ndarray, weights: np.ndarray, visible: np.ndarray | None = None) -> np.ndarray:
    """How many visible keys that are attended less lie as near to a query as its most attended key, or nearer.

        rank_i = #{ j : near_ij ≥ near_im, a_ij < a_im }        m = the most attended key (the nearest of them, where several are alike)

    near, weights: [..., query, key]; visible: broadcast to them, True where a query may look → [..., query]; −1 where no visible key is
    attended more than another (it sees no key or one, or all weights are equal). A picture whose points all coincide gets no good rank.

    >>> rank_of_most_attended(np.array([[3.0, 2.0, 1.0]]), np.array([[0.1, 0.7, 0.2]]))
    array([1])
    >>> rank_of_most_attended(np.zeros((1, 3)), np.array([[0.1, 0.7, 0.2]]))
    array([2])
    """
    if visible is not None:
        near = np.where(visible, near, -np.inf)
    is_less = weights < weights.max(-1, keepdims=True)  # [..., query, key]
    nearest = np.where(is_less, -np.inf, near).max(-1, keepdims=True)  # of the most attended
    if visible is not None:
        is_less = is_less & visible
    ranks = ((near >= nearest) & is_less).sum(-1)
    return np.where(is_less.any(-1), ranks, -1)


def rank_correlation(near: np.ndarray, weights: np.ndarray, visible: np.ndarray | None = None) -> np.ndarray:
    """Spearman's correlation of nearness and attention over the visible keys of each query.

        ρ = corr(rank(near), rank(weight))        ranks by order; equal values in the order of the keys

    near, weights: [..., query, key] → [..., query]; 1: the picture keeps the whole order. nan where fewer than two keys are visible, or
    either does not vary (a dead head): there is no order to keep.

    >>> rank_correlation(np.array([[3.0, 2.0, 1.0]]), np.array([[0.7, 0.2, 0.1]]))
    array([1.])
    """
    n_keys = near.shape[-1]
    hidden = None if visible is None else ~np.broadcast_to(visible, near.shape)
    flat = _is_flat(near, hidden) | _is_flat(weights, hidden)  # [..., query]
    if hidden is None:
        n = np.full(near.shape[:-1], n_keys)
    else:
        n = n_keys - hidden.sum(-1)
        # Hidden keys go to the end of both orders and get the same ranks there: they add nothing to the sum of squared differences.
        near, weights = np.where(hidden, -np.inf, near), np.where(hidden, -1.0, weights)
    difference = (_ranks(near) - _ranks(weights)).astype(np.float64)
    if hidden is not None:
        difference[hidden] = 0
    squares = np.square(difference).sum(-1)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(np.where((n > 1) & ~flat, 1 - 6 * squares / (n * (np.square(n.astype(np.float64)) - 1)), np.nan))


def _is_flat(values: np.ndarray, hidden: np.ndarray | None) -> np.ndarray:
    """Whether all visible keys of a query have one value: [..., query]."""
    if hidden is None:
        return np.asarray(values.max(-1) <= values.min(-1))
    return np.asarray(np.where(hidden, -np.inf, values).max(-1) <= np.where(hidden, np.inf, values).min(-1))


def _ranks(values: np.ndarray) -> np.ndarray:
    """The rank of each value in descending order, from 0: [..., key]."""
    order = np.argsort(-values, axis=-1, kind="stable")
    ranks = np.empty_like(order)
    np.put_along_axis(ranks, order, np.broadcast_to(np.arange(values.shape[-1]), values.shape), -1)
    return ranks


# ---- Pictures by PCA, measured on queries that had no part in them


#: Texts (or the queries of the only text) are held out in this many parts.
FOLDS = 3

SIDES = ("rows", "columns")


@dataclass(frozen=True)
class HeldOutOptions:
    """How the picture is made. scales: of each fold, the one c of all heads, where it is not searched for each head."""

    gauge: str
    agreement: Agreement
    dims: int
    seed: int
    scales: Sequence[float] | None = None


def held_out_axes(
    queries: np.ndarray,
    keys: np.ndarray,
    texts: Sequence[TextPairs],
    weights: Sequence[np.ndarray],
    visible: Sequence[np.ndarray | None],
    options: HeldOutOptions,
) -> Fidelity:
    """The cross-validated fidelity of some heads by PCA, over texts; over the queries of the text, where there is one.

    Gauge and axes are fitted without the held-out queries, then place them.

    queries: [head, query, dim], keys: [head, key, dim]; texts: what the gauge may see; weights: the attention of each text,
    [head, query, key]; visible: of each text, broadcast to its weights
    gauge: none, attentionviz or searched (shift and scale of a head, which place any other token too)
    """

    def pictures() -> Iterator[TextPicture]:
        for number, fold in enumerate(folds(texts, options.seed)):
            scale = None if options.scales is None else np.full(len(queries), options.scales[number])
            axes = _Placement.learnt_from(queries, keys, fold, scale, options)
            for text, part in fold.unseen:
                rows = np.arange(texts[text].rows.start, texts[text].rows.stop)[part]
                shown = visible[text]
                yield TextPicture(
                    axes.queries(queries[:, rows]),
                    axes.keys(keys[:, texts[text].columns]),
                    weights[text][:, part],
                    None if shown is None else shown[..., part, :],
                )

    return fidelity(pictures(), queries.shape[:1])


@dataclass(frozen=True)
class Fold:
    """seen: the texts whose attention may be used; rows, columns: their queries and keys; unseen: (text, queries of it) to measure"""

    seen: list[TextPairs]
    rows: np.ndarray
    columns: np.ndarray
    unseen: list[tuple[int, np.ndarray]]


def folds(texts: Sequence[TextPairs], seed: int) -> Iterator[Fold]:
    """The seen texts have rows and columns of their own: those of `rows` and `columns`, one text after the other."""
    only = texts[0]
    n = len(texts) if len(texts) > 1 else only.rows.stop - only.rows.start
    order = np.random.default_rng(seed).permutation(n)
    for fold in range(min(FOLDS, n)):
        out = np.sort(order[fold::FOLDS])
        if len(texts) == 1:
            kept = np.setdiff1d(np.arange(n), out)
            if len(kept):
                seen = TextPairs(slice(0, len(kept)), slice(0, only.columns.stop - only.columns.start), only.weights[:, kept])
                columns = np.arange(only.columns.start, only.columns.stop)
                yield Fold([seen], kept + only.rows.start, columns, [(0, out)])
            continue
        kept_texts = [text for index, text in enumerate(texts) if index not in set(out.tolist())]
        rows, columns = (np.concatenate([np.arange(*getattr(text, side).indices(1 << 62)) for text in kept_texts]) for side in SIDES)
        unseen = [(int(text), np.arange(texts[text].rows.stop - texts[text].rows.start)) for text in out]
        yield Fold(list(_one_after_another(kept_texts)), rows, columns, unseen)


def _one_after_another(texts: Sequence[TextPairs]) -> Iterator[TextPairs]:
    row = column = 0
    for text in texts:
        n_rows, n_columns = (getattr(text, side).stop - getattr(text, side).start for side in SIDES)
        yield TextPairs(slice(row, row + n_rows), slice(column, column + n_columns), text.weights)
        row, column = row + n_rows, column + n_columns


@dataclass(frozen=True)
class _Placement:
    """Where a picture puts any query and key: shift [head, 1, dim], scale [head, 1, 1], mean [head, 1, dim], axes [head, dim, dims]."""

    shift: np.ndarray
    scale: np.ndarray
    mean: np.ndarray
    axes: np.ndarray

    @classmethod
    def learnt_from(
        cls, queries: np.ndarray, keys: np.ndarray, fold: Fold, scale: np.ndarray | None, options: HeldOutOptions
    ) -> _Placement:
        q, k = queries[:, fold.rows], keys[:, fold.columns]
        new_q, new_k, scale = gauged(q, k, options.gauge, fold.seen, scale, options.agreement)
        mean, axes = principal_axes(np.concatenate([new_q, new_k], -2), options.dims)
        shift = new_k[:, :1] * scale[:, None, None] - k[:, :1]
        return cls(shift, scale[:, None, None], mean[:, None], axes)

    def queries(self, vectors: np.ndarray) -> np.ndarray:
        return np.asarray((vectors * self.scale - self.mean) @ self.axes)

    def keys(self, vectors: np.ndarray) -> np.ndarray:
        return np.asarray(((vectors + self.shift) / self.scale - self.mean) @ self.axes)
