"""Pictures of spaces fitted in a few steps, and probes trained for two epochs: for tests that do not look at how good these are."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from eyeline.measure.probes import run as probes_run
from eyeline.measure.probes.training import train
from eyeline.measure.space import fit
from eyeline.measure.space.fit import fit_projections, free_points


@contextmanager
def short_fits() -> Iterator[None]:
    """Within this block a picture is fitted from two starts in 25 steps, not from twelve in 560."""
    with pytest.MonkeyPatch.context() as patch:
        _default(patch, fit_projections, starts=2, steps=20)
        _default(patch, free_points, steps=10)
        patch.setattr(fit, "FIRST_STEPS", 5)
        patch.setattr(fit, "STEPS_FROM_BACKGROUND", 5)
        patch.setattr(fit, "HELD_OUT_STARTS", 2)
        patch.setattr(fit, "HELD_OUT_STEPS", 20)
        yield


@contextmanager
def short_trainings() -> Iterator[None]:
    """Within this block a probe is trained for two epochs at most, whatever it was told."""

    def at_most_two(*arguments: Any, epochs: int, **options: Any) -> Any:
        return train(*arguments, epochs=min(2, epochs), **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(probes_run, "train_scorer", at_most_two)
        yield


def _default(patch: pytest.MonkeyPatch, function: Any, **values: int) -> None:
    """Other defaults of a function's keywords."""
    patch.setattr(function, "__kwdefaults__", {**function.__kwdefaults__, **values})
