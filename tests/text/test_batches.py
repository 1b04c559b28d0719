"""batches: every text once, within both bounds."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eyeline.models.tracing import batches


@given(st.lists(st.integers(1, 50)), st.integers(1, 8), st.integers(1, 120))
def test_every_text_comes_once_and_batches_stay_within_bounds(lengths: list[int], max_batch: int, max_tokens: int) -> None:
    result = batches(lengths, max_batch, max_tokens)
    assert sorted(index for batch in result for index in batch) == list(range(len(lengths)))
    for batch in result:
        assert 1 <= len(batch) <= max_batch
        assert len(batch) == 1 or len(batch) * max(lengths[index] for index in batch) <= max_tokens


def test_texts_of_similar_length_share_a_batch() -> None:
    assert batches([2, 100, 3, 99], max_batch=2, max_tokens=1000) == [[1, 3], [2, 0]]


def test_a_bound_below_one_is_refused() -> None:
    with pytest.raises(ValueError, match="max_batch=0"):
        batches([1], 0, 10)
