"""What holds for every statistic: merging, order, batches, padding, emptiness, saving."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from eyeline.attributions import Faithfulness
from eyeline.errors import TraceError
from eyeline.measure.corpus.catalogue import STATISTICS
from eyeline.measure.runs.facts import CorpusFacts, ModelFacts
from eyeline.measure.statistics.loop import Position, load_state, save_state
from eyeline.measure.statistics.options import AnalyseFacts, AnalyseOptions
from eyeline.statistics import AverageAttention, Entropy, Statistic
from tests.laws.statistics import TEXTS, model_for, summed

#: Options of statistics that need some, or are tested with more than their defaults.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "average_attention": [{}, {"targets": {"the": "the", "animal": "cat|dog"}}],
    "entropy": [{}, {"smoothing": 0.0001}],
    "causes": [{}, {"by": "mean"}],
    "pruning": [{"orders": {"least": [("encoder", 1, 0), ("encoder", 0, 3), ("encoder", 2, 2)]}, "steps": 3}],
}
#: Every statistic of the catalogue, and the one that `el.attributions` has beside it.
KINDS = (*STATISTICS.values(), Faithfulness)
EVERY = [kind(**options) for kind in KINDS for options in OPTIONS.get(kind.name, [{}])]
ALL = range(len(TEXTS))


def label(statistic: Statistic) -> str:
    return f"{statistic.name}{statistic.options()}"


every = pytest.mark.parametrize("statistic", EVERY, ids=label)


def assert_same(first: Statistic, second: Statistic, *, rtol: float = 0.0, atol: float = 0.0) -> None:
    assert first.state().keys() == second.state().keys()
    for name, values in first.state().items():
        np.testing.assert_allclose(values, second.state()[name], rtol=rtol, atol=atol, err_msg=name)
    tables, others = first.result(), second.result()
    assert tables.keys() == others.keys()
    for name, table in tables.items():
        assert list(table.columns) == list(others[name].columns)
        assert len(table) == len(others[name])


@every
def test_merging_parts_equals_the_whole(statistic: Statistic) -> None:
    whole = summed(statistic, ALL, size=1)
    for cut in (1, 3, 6):
        merged = summed(statistic, range(cut), size=1)
        merged.merge(summed(statistic, range(cut, len(TEXTS)), size=1))
        assert_same(merged, whole, rtol=1e-9, atol=1e-12)


@every
def test_the_order_of_parts_does_not_matter(statistic: Statistic) -> None:
    first, second = (summed(statistic, half, size=1) for half in (range(3), range(3, len(TEXTS))))
    forward, backward = first.fresh(), first.fresh()
    forward.merge(first), forward.merge(second)
    backward.merge(second), backward.merge(first)
    assert_same(forward, backward, rtol=1e-12)


@settings(max_examples=5, deadline=None)
@given(st.permutations(list(ALL)), st.integers(1, 7))
@pytest.mark.parametrize("statistic", EVERY, ids=label)
def test_neither_batch_size_nor_padding_nor_order_matters(statistic: Statistic, order: list[int], size: int) -> None:
    model = model_for(statistic, torch.float64)  # so that what is left is ours, not the rounding of the model's own layers
    assert_same(summed(statistic, order, size=size, model=model), summed(statistic, ALL, size=1, model=model), rtol=1e-6, atol=1e-6)


@every
def test_without_maps_is_the_same_as_from_maps(statistic: Statistic) -> None:
    assert_same(summed(statistic, ALL, streamed=True), summed(statistic, ALL, streamed=False), rtol=1e-5, atol=3e-5)


@every
def test_an_empty_statistic_is_legal_and_changes_nothing(statistic: Statistic) -> None:
    empty, full = statistic.fresh(), summed(statistic, ALL)
    assert all(len(table) == 0 for table in empty.result().values())
    assert all(len(table) > 0 for table in full.result().values()), "the laws would hold for nothing"
    merged = statistic.fresh()
    merged.merge(full)
    merged.merge(empty)
    assert_same(merged, full)


@every
def test_state_comes_back_from_disk_to_the_bit(statistic: Statistic, tmp_path) -> None:
    full = summed(statistic, ALL)
    position = Position((1, 2), {"texts": 3}, 0.5, streamed=True, complete=False)
    facts = AnalyseFacts(ModelFacts("tiny"), CorpusFacts("texts"), AnalyseOptions())
    save_state(tmp_path, [full], facts, position)
    saved = load_state(tmp_path, [statistic])
    assert saved is not None
    assert saved.position == position
    assert_same(saved.statistics[0], full)


@every
def test_a_restored_statistic_goes_on_as_if_nothing_had_happened(statistic: Statistic) -> None:
    half = summed(statistic, range(4), size=1)
    restored = half.from_state(half.state())
    restored.merge(summed(statistic, range(4, len(TEXTS)), size=1))
    assert_same(restored, summed(statistic, ALL, size=1), rtol=1e-12)


@every
def test_a_merge_leaves_the_other_untouched(statistic: Statistic) -> None:
    first, second = summed(statistic, range(3)), summed(statistic, range(3, len(TEXTS)))
    before = second.state()
    first.merge(second)
    first.merge(second)
    for name, values in second.state().items():
        np.testing.assert_array_equal(values, before[name])


def test_statistics_of_different_options_are_not_merged() -> None:
    with pytest.raises(TraceError, match="cannot be merged"):
        Entropy().merge(Entropy(smoothing=0.1))
    with pytest.raises(TraceError, match="cannot be merged"):
        AverageAttention().merge(Entropy())
