"""Fidelity of fitted pictures on attention that was not used for the fit: only this predicts the fidelity on other text.

With the built-in paragraphs: fitted on them alone, measured on the user's texts (`fit.py`). Otherwise cross-validated: over texts, each
measured by projections that were fitted without it; of one text, over its queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from eyeline.analyses.progress import ReportStep
from eyeline.analyses.space.parallel import Parallel
from eyeline.measures.space.fidelity import Fidelity, TextPicture, fidelity
from eyeline.measures.space.fitted_projection import fit_projections
from eyeline.measures.space.projection_loss import HeadText, PlaneProjections

#: Texts (or queries) are held out in so many parts.
FOLDS = 3
#: The fits of cross-validation begin from fewer starts and take fewer steps: a lower bound, in less time.
STARTS, STEPS = 4, 300


def held_out_by(n_texts: int, *, background: bool) -> str:
    """How fidelity is held out: by the background, over texts or over queries."""
    return "background" if background else "texts" if n_texts > 1 else "queries"


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
