"""Fidelity of pictures on attention that was not used to fit them: only this predicts the fidelity on other text.

With the built-in paragraphs: fitted on them alone, measured on the user's texts (`fit.py`). Otherwise cross-validated: over texts, each
measured by projections that were fitted without it (by PCA: in a gauge and along axes found without it); of one text, over its queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from eyeline.analyses.progress import ReportStep
from eyeline.analyses.space.capture import CapturedStack
from eyeline.analyses.space.gauge import text_pairs, vectors_of
from eyeline.analyses.space.parallel import Parallel
from eyeline.measures.space.fidelity import Fidelity, TextPicture, fidelity
from eyeline.measures.space.fitted_projection import fit_projections
from eyeline.measures.space.gauge import find_scale, shift_keys
from eyeline.measures.space.held_out_axes import HeldOutOptions, folds, held_out_axes
from eyeline.measures.space.pairs import AllPairs
from eyeline.measures.space.projection_loss import HeadText, PlaneProjections
from eyeline.measures.space.search_gauge import Agreement
from eyeline.results.facts import SpaceOptions
from eyeline.results.space.shown_fidelity import is_cross_validated, is_measured_as_it_is

#: Into how many parts texts (or queries) are divided for holding out.
FOLDS = 3
#: The fits of cross-validation use fewer starts and take fewer steps: a lower bound, in less time.
STARTS, STEPS = 4, 300


def held_out_by(options: SpaceOptions, n_texts: int, *, background: bool) -> str:
    """How the fidelity shown is held out: by the background, over texts, over queries; picture: attention has no part in the picture,
    which is measured as it is; "": no fidelity is shown."""
    what = options.of, options.project, options.gauge
    if is_cross_validated(*what):
        return "background" if background else "texts" if n_texts > 1 else "queries"
    return "picture" if is_measured_as_it_is(*what) else ""


def held_out_fidelity(
    texts: Sequence[HeadText], scales: torch.Tensor, *, dims: int, seed: int, report: ReportStep | None = None
) -> Fidelity:
    """The fidelity of every head [head], cross-validated."""
    parts = list(_parts(texts, seed))

    def pictures() -> Iterator[TextPicture]:
        for fold, (seen, unseen) in enumerate(parts):

            def within(done: int, of: int | None, tokens: int = 0, fold: int = fold) -> None:
                if report is not None:
                    report(fold * (of or 0) + done, len(parts) * (of or 0), tokens)

            projections = fit_projections(seen, scales, dims=dims, seed=seed, starts=STARTS, steps=STEPS, run=Parallel(within))
            yield from pictures_of(unseen, projections)

    return fidelity(pictures(), (len(scales),))


def pictures_of(texts: Sequence[HeadText], projections: PlaneProjections) -> Iterator[TextPicture]:
    """The texts where the projections put them."""
    for text in texts:
        x, y = projections.project(text)
        yield TextPicture(x.numpy(), y.numpy(), text.weights.numpy(), None if text.visible is None else text.visible.numpy())


def _parts(texts: Sequence[HeadText], seed: int) -> Iterator[tuple[list[HeadText], list[HeadText]]]:
    """What a fit sees, and what it is measured on."""
    generator = torch.Generator().manual_seed(seed)
    n_queries = texts[0].queries.shape[1]
    order = torch.randperm(len(texts) if len(texts) > 1 else n_queries, generator=generator)
    for fold in range(min(FOLDS, len(order))):
        out = set(order[fold::FOLDS].tolist())
        if len(texts) > 1:
            yield [text for i, text in enumerate(texts) if i not in out], [text for i, text in enumerate(texts) if i in out]
        elif len(out) < n_queries:
            kept = [i for i in range(n_queries) if i not in out]
            yield [_queries_of(texts[0], kept)], [_queries_of(texts[0], sorted(out))]


def _queries_of(text: HeadText, rows: list[int]) -> HeadText:
    """The text with these queries alone; all keys stay."""
    visible = None if text.visible is None else text.visible[:, rows]
    return HeadText(text.queries[:, rows], text.keys, text.weights[:, rows], visible)


def held_out_pca(stack: CapturedStack, options: SpaceOptions) -> Fidelity:
    """top1, top5, rank [layer, head] of a space by PCA in a gauge that is a shift and a scale."""
    agreement = Agreement(options.distance, options.correlate, options.dims)
    scales = _shared_scales(stack, options.seed) if options.shared_scale and options.gauge == "attentionviz" else None
    how = HeldOutOptions(options.gauge, agreement, options.dims, options.seed, scales)
    by_layer = []
    for layer in range(len(stack.layers)):
        visible = [None if text is None else text[layer][None] for text in stack.visible]  # [1, query, key]
        weights = [np.asarray(text[layer]) for text in stack.weights]
        pairs = text_pairs(stack, layer)
        by_layer.append(held_out_axes(*vectors_of(stack, layer), pairs, weights, visible, how))
    top1, top5, rank = (np.stack([getattr(each, name) for each in by_layer]) for name in ("top1", "top5", "rank"))
    hits, of = (np.sum([getattr(each, name) for each in by_layer], 0) for name in ("hits", "of"))
    return Fidelity(top1, top5, rank, hits, of)


def _shared_scales(stack: CapturedStack, seed: int) -> list[float]:
    """Of each fold, the one c of all layers and heads that its texts give."""
    every = [text_pairs(stack, layer) for layer in range(len(stack.layers))]
    by_layer = [list(folds(texts, seed)) for texts in every]
    scales = []
    for number in range(len(by_layer[0])):
        pairs = []
        for layer, parts in enumerate(by_layer):
            fold, (queries, keys) = parts[number], vectors_of(stack, layer)
            seen = queries[:, fold.rows], keys[:, fold.columns]
            pairs.append(AllPairs(*seen, fold.seen, (seen[0], shift_keys(*seen))))

        def mean(c: np.ndarray, pairs: list[AllPairs] = pairs) -> np.ndarray:
            correlations = [each.correlation(c) for each in pairs]
            return np.asarray(np.nanmean(correlations) if np.isfinite(correlations).any() else np.nan)

        scales.append(float(find_scale(mean, ())[0]))
    return scales
