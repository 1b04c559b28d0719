"""Pictures of spaces fitted in a few steps: for tests that look at spaces, and not at how well their pictures show attention."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eyeline.analyses.space import fit, held_out
from eyeline.measures.space import fitted_projection, freed_points


@contextmanager
def short_fits() -> Iterator[None]:
    """Within this block a picture is fitted from two starts in 25 steps, not from twelve in 560."""
    with pytest.MonkeyPatch.context() as patch:
        _default(patch, fitted_projection.fit_projections, starts=2, steps=20)
        _default(patch, freed_points.free_points, steps=10)
        patch.setattr(fitted_projection, "FIRST_STEPS", 5)
        patch.setattr(fit, "STEPS_FROM_BACKGROUND", 5)
        patch.setattr(held_out, "STARTS", 2)
        patch.setattr(held_out, "STEPS", 20)
        yield


def _default(patch: pytest.MonkeyPatch, function: Any, **values: int) -> None:
    """Other defaults of a function's keywords."""
    patch.setattr(function, "__kwdefaults__", {**function.__kwdefaults__, **values})
