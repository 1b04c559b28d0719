"""Which fidelity a reader is shown: only one that was measured on attention that had no part in the picture.

A picture that can place other tokens (fitted, freed, or PCA in a gauge that is a shift and a scale) is cross-validated. A picture that
cannot (UMAP, t-SNE, the lifted gauge, a shared space) is measured as it is, where attention had no part in it; else no fidelity is shown.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eyeline.results.table import Table

#: Nearest key, nearest five, rank correlation: on attention that the fit did not see, and in the picture as it is.
HELD_OUT = ("top1_held_out", "top5_held_out", "rank_held_out")
IN_PICTURE = ("top1_projected", "top5_projected", "rank_correlation")


#: Gauges that are found by means of attention.
SEEING_GAUGES = ("attentionviz", "searched")
#: How the fidelity was held out, where it is that of texts or tokens that had no part in the picture.
UNSEEN = ("background", "texts", "queries")


def is_cross_validated(of: str, project: str, gauge: str) -> bool:
    """Whether such a picture can place tokens that had no part in it."""
    return of == "queries-keys" and (project in ("fitted", "freed") or (project == "pca" and gauge != "lifted"))


def is_measured_as_it_is(of: str, project: str, gauge: str) -> bool:
    """Whether such a picture was made without attention, and cannot place other tokens."""
    return of != "values" and not is_cross_validated(of, project, gauge) and gauge not in SEEING_GAUGES


def shown_columns(facts: Mapping[str, np.ndarray] | Table) -> tuple[str, str, str]:
    """The columns to show, of the facts of a stack or the table of a run; nan in them: no fidelity is shown.

    Files of earlier versions have only the columns of the picture as it is.

    >>> shown_columns({"top1_held_out": np.array([[0.5]])})[0], shown_columns({"top1_projected": np.array([[0.5]])})[0]
    ('top1_held_out', 'top1_projected')
    """
    names = facts.columns if isinstance(facts, Table) else facts
    return HELD_OUT if HELD_OUT[0] in names else IN_PICTURE
