"""Fidelity of pictures by PCA on queries that had no part in them: gauge and axes are fitted without them, then place them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from eyeline.measures.space.fidelity import Fidelity, TextPicture, fidelity
from eyeline.measures.space.gauge import gauged
from eyeline.measures.space.pairs import TextPairs
from eyeline.measures.space.project import principal_axes
from eyeline.measures.space.search_gauge import Agreement

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
