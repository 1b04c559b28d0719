"""Which columns hold the fidelity that a reader is shown: held out wherever the pictures were fitted to attention."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from eyeline.results.table import Table

#: Nearest key, nearest five, rank correlation: on attention that the fit did not see, and in the picture as it is.
HELD_OUT = ("top1_held_out", "top5_held_out", "rank_held_out")
IN_PICTURE = ("top1_projected", "top5_projected", "rank_correlation")


def shown_columns(facts: Mapping[str, np.ndarray] | Table) -> tuple[str, str, str]:
    """The columns to show, of the facts of a stack or the table of a run.

    >>> shown_columns({"top1_held_out": np.array([[0.5]])})[0], shown_columns({"top1_projected": np.array([[0.5]])})[0]
    ('top1_held_out', 'top1_projected')
    """
    names = facts.columns if isinstance(facts, Table) else facts
    if HELD_OUT[0] in names and np.isfinite(facts[HELD_OUT[0]].astype(float)).any():
        return HELD_OUT
    return IN_PICTURE
