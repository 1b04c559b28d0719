"""What a GPU does for all layers or texts of a batch together gives what is done one by one."""

from __future__ import annotations

import pytest
import torch

import eyeline as el
from eyeline.measure.corpus.distances import js_between_heads, js_of_smoothed
from eyeline.measure.statistics.loop import update_statistics
from eyeline.measure.statistics.statistic import roles_of
from eyeline.models.layout import check_layers


@pytest.mark.parametrize("kind", [el.statistics.AverageAttention, el.statistics.Entropy])
def test_layers_added_together_give_the_sums_of_single_layers(minilm: el.Model, kind: type) -> None:
    examples = tuple(minilm.read(text) for text in ("The cat sat.", "It saw a dog, and ran."))
    batch = el.statistics.Batch(examples, roles_of(minilm.tokenizer))  # type: ignore[arg-type]
    single, together = kind(), kind()
    held: list[object] = []
    add = together._add
    together._add = lambda *layers: held.extend(layers[-1])
    for statistic in (single, together):
        update_statistics(minilm, batch, [statistic], check_layers(minilm.layout, None), streamed=True)
    assert len(held) == 6
    together._add = add
    together._waiting = held
    together.finish(batch)
    assert single.state().keys() == together.state().keys()
    for name, values in single.state().items():
        torch.testing.assert_close(torch.from_numpy(values), torch.from_numpy(together.state()[name]))


def test_distances_of_texts_side_by_side_are_the_sum_of_their_distances() -> None:
    torch.manual_seed(0)
    lengths = (5, 3)
    e = torch.zeros(2, 4, 5, 5)
    for text, n in enumerate(lengths):
        e[text, :, :n, :n] = torch.randn(4, n, n).softmax(-1)
    attention = el.traces.LayerAttention("encoder", 0, lengths, lengths, reported=e)
    rows = el.statistics.Rows(attention, range(2), range(4), 0, e, torch.ones(2, 4, 5, 1), None, torch.ones(2, 5))
    statistic = el.statistics.HeadDistances()
    expected = sum(js_between_heads(e[text, :, :n, :n]) for text, n in enumerate(lengths))
    torch.testing.assert_close(js_of_smoothed(statistic._smooth(rows)), expected, atol=1e-6, rtol=1e-5)
    short = el.statistics.HeadDistances(longest=3)
    torch.testing.assert_close(js_of_smoothed(short._smooth(rows)), js_between_heads(e[1, :, :3, :3]), atol=1e-6, rtol=1e-5)
