"""Every family that transformers can build, in a small random configuration: each public call ends in a result or in our own error, and
none is refused that reports maps of tokens. What each gives is noted for docs/models.md."""

from __future__ import annotations

import random

import pytest

from tests.families.calls import outcomes
from tests.families.kinds import NOT_BUILT, FamilyKind, kind_of_model, kind_of_refusal, reports_maps
from tests.families.small_models import FAMILY_NAMES, CannotBuildError, small_model

#: Looked at on every change that runs all tests; the others every night.
SAMPLE = frozenset(random.Random(0).sample(FAMILY_NAMES, 20))  # noqa: S311 - a choice of tests, not a secret


def marked(name: str):
    return pytest.param(name, marks=pytest.mark.slow if name in SAMPLE else pytest.mark.families)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [marked(name) for name in FAMILY_NAMES])
def test_every_call_ends_in_a_result_or_in_our_own_error(name, tmp_path):
    try:
        hf = small_model(name)
    except CannotBuildError as reason:
        FamilyKind(name, NOT_BUILT, str(reason)).write()
        pytest.skip(f"transformers does not build it small: {reason}")
    tried = outcomes(hf, name, tmp_path)
    if tried.model is not None:
        kind_of_model(name, tried.model).write()
    else:
        kind_of_refusal(name, tried.calls[0].error).write()
    raw = [outcome for outcome in tried.calls if outcome.is_raw]
    assert not raw, "\n".join(map(str, raw))
    assert tried.model is not None or not reports_maps(hf), f"refused, though it reports maps of tokens: {tried.calls[0].error}"
