"""A share as a reader sees it."""

from __future__ import annotations

import math


def percent(share: float, decimals: int = 0) -> str:
    """A share from 0 to 1 in percent; a dash where it is not known.

    >>> percent(0.923), percent(0.0519, 1), percent(float("nan"))
    ('92 %', '5.2 %', '–')
    """
    return "–" if math.isnan(share) else f"{100 * share:.{decimals}f} %"
