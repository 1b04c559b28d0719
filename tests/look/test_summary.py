from __future__ import annotations

import numpy as np
import pytest

import eyeline as el
from eyeline.look.summary import summarise

#: [head, query, key]: the first head looks back, the second at itself.
BACK = [[1.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]


def test_a_layer_is_summarised_by_means_over_its_heads_and_queries():
    trace = el.Trace.from_arrays([[BACK, np.eye(3).tolist()]], ["[CLS]", "cat", "sat"])
    (summary,) = summarise(trace.stacks["encoder"])
    assert summary.layer == 0
    assert summary.entropy == 0
    assert summary.shares["previous"] == pytest.approx(2 / 6)
    assert summary.shares["self"] == pytest.approx(4 / 6)
    assert summary.shares["next"] == 0
    assert summary.shares["first token"] == pytest.approx(3 / 6)
    assert (summary.most_attended, summary.most_attended_share) == ("[CLS]", pytest.approx(3 / 6))


def test_uniform_attention_has_the_entropy_of_its_length():
    (summary,) = summarise(el.Trace.from_arrays(np.full((1, 1, 4, 4), 0.25), list("abcd")).stacks["encoder"])
    assert summary.entropy == pytest.approx(np.log(4))
