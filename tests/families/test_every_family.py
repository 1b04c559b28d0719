"""Every family that transformers can build, in a small random configuration: each public call ends in a result or in our own error."""

from __future__ import annotations

import random

import pytest

from tests.families.calls import outcomes
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
        pytest.skip(f"transformers does not build it small: {reason}")
    raw = [outcome for outcome in outcomes(hf, name, tmp_path) if outcome.is_raw]
    assert not raw, "\n".join(map(str, raw))
