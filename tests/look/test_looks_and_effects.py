"""The two heads of the lesson's last step, chosen by measurement."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import eyeline as el
from eyeline.errors import TraceError
from eyeline.look.answer import Choices, Prediction
from eyeline.look.numbers import sharpest_and_most_effective


def test_one_head_looks_sharply_and_does_not_matter_and_the_other_matters_most():
    weights = np.full((2, 2, 4, 4), 0.25)
    weights[0, 1, 3] = [0.05, 0.9, 0.02, 0.03]  # sharp, at b
    weights[1, 0, 3] = [0.1, 0.1, 0.7, 0.1]  # less sharp, at c
    trace = el.Trace.from_arrays(weights, ["a", "b", "c", "[MASK]"], special=[True, False, False, False])
    trace = replace(trace, prediction=Prediction("masked", (Choices(3, ("tea",), (1,), (0.5,)),)))
    effects = [{"layer": 0, "probabilities": [0.49, 0.5]}, {"layer": 1, "probabilities": [0.2, 0.45]}]
    looks, matters = sharpest_and_most_effective(trace, effects)
    assert (str(looks.head), looks.token, looks.after) == ("L0·H1", "b", 0.5)
    assert looks.weight == pytest.approx(0.9)
    assert (str(matters.head), matters.token, matters.before, matters.after) == ("L1·H0", "c", 0.5, 0.2)


def test_a_text_without_an_answer_at_a_token_is_refused():
    with pytest.raises(TraceError, match="answers at no token"):
        sharpest_and_most_effective(el.Trace.from_arrays(np.ones((1, 1, 1, 1)), ["a"]), [])
