"""Pictures of spaces fitted in a few steps: for tests that look at spaces, and not at how well their pictures show attention."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from eyeline.analyses.space import fit, held_out
from eyeline.measures.space import fitted_projection, freed_points


@contextmanager
def short_fits() -> Iterator[None]:
    """Within this block a picture is fitted from two starts in 25 steps, not from twelve in 560."""
    defaults = fitted_projection.fit_projections.__kwdefaults__
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(defaults, "starts", 2)
        patch.setitem(defaults, "steps", 20)
        patch.setattr(fitted_projection, "FIRST_STEPS", 5)
        patch.setattr(fit, "STEPS_FROM_BACKGROUND", 5)
        patch.setattr(held_out, "STARTS", 2)
        patch.setattr(held_out, "STEPS", 20)
        patch.setitem(freed_points.free_points.__kwdefaults__, "steps", 10)
        yield
