"""Rows whose numbers came with a layer's output answer as rows of a map do."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

import eyeline as el
from eyeline.errors import TraceError
from eyeline.measure.statistics import rows as rows_module
from eyeline.measure.statistics.rows import kernel_rows, rows_of_scores
from eyeline.models.attention import AttentionCall
from tests.models.dense import numbers


def _both(mask: bool, causal: bool) -> tuple[el.statistics.Rows, el.statistics.Rows, torch.Tensor]:
    """The same layer as rows of numbers and as rows of its map, and sets of keys."""
    torch.manual_seed(0)
    queries, keys = torch.randn(2, 4, 5, 8), torch.randn(2, 2, 5, 8)
    sets = (torch.rand(2, 5, 3) > 0.5).float()
    seen = (torch.arange(5) < torch.tensor([[5], [3]]))[:, None, None].repeat(1, 1, 5, 1) if mask else None
    call = AttentionCall(torch.nn.Module(), queries, keys, keys, seen, {"scaling": 0.35}, causal)
    lengths = (5, 3 if mask else 5)
    layer = el.traces.LayerAttention("encoder", 0, lengths, lengths, call)
    known = numbers(queries, keys, seen, 0.35, causal, sets)[1]
    known = replace(known, sets=replace(known.sets, given=(sets,)))
    (dense,) = rows_of_scores(layer)
    return kernel_rows(replace(layer, recorded=replace(call, numbers=known))), dense, sets


@pytest.mark.parametrize(("mask", "causal"), [(False, False), (True, False), (False, True)])
def test_kernel_rows_give_the_numbers_of_the_map(mask: bool, causal: bool) -> None:
    rows, dense, sets = _both(mask, causal)
    assert torch.equal(rows.inside, dense.inside)
    assert torch.equal(rows.visible, dense.visible.expand_as(rows.visible))
    torch.testing.assert_close(rows.mass(sets).float(), dense.mass(sets))
    torch.testing.assert_close(rows.entropy().float(), dense.entropy())
    torch.testing.assert_close(rows.shares(sets, (1, -1, 0)).float(), dense.shares(sets, (1, -1, 0)))
    torch.testing.assert_close(rows.shares(sets, (-1, 0)).float(), dense.shares(sets, (-1, 0)))
    for offset in (-2, -1, 0, 1, 2):
        torch.testing.assert_close(rows.at_offset(offset).float(), dense.at_offset(offset), msg=str(offset))


def test_sets_that_nobody_named_before_the_pass_are_asked_for_in_another(monkeypatch: pytest.MonkeyPatch) -> None:
    rows, dense, _ = _both(mask=True, causal=False)

    def attention(queries, keys, values, mask, scale, causal, sets):  # type: ignore[no-untyped-def]
        return None, numbers(queries, keys, mask, scale, causal, sets.given[0])[1]

    monkeypatch.setattr(rows_module, "attention", attention)
    other = torch.ones(2, 5, 1)
    torch.testing.assert_close(rows.mass(other).float(), dense.mass(other))


def test_the_map_of_kernel_rows_is_refused_with_a_hint() -> None:
    rows, _, _ = _both(mask=False, causal=False)
    with pytest.raises(TraceError, match="needs_weights"):
        rows.weights()
