"""The loss of a text against double precision, and what is not a corpus of texts."""

from __future__ import annotations

import pytest
import torch
from torch.nn.functional import cross_entropy

import eyeline as el
from eyeline.errors import TextError
from eyeline.measure.statistics.model_statistic import text_losses
from tests.measure.causes.tiny import masked


@pytest.mark.parametrize("vocabulary", [64, 262_144])
def test_the_loss_is_that_of_double_precision(vocabulary):
    generator = torch.Generator().manual_seed(0)
    logits = 3 * torch.randn(2, 3, vocabulary, generator=generator)
    labels = torch.randint(vocabulary, (2, 3), generator=generator)
    labels[1, 2] = -100
    each = cross_entropy(logits.double().flatten(0, 1), labels.flatten(), reduction="none").view(2, 3)
    expected = each.sum(-1) / torch.tensor([3, 2])
    assert ((text_losses(logits, labels) - expected) / expected).abs().max() < 2e-6


@pytest.mark.parametrize(
    "given", [[torch.zeros(1, 3, 4, 4)], torch.zeros(1, 3, 4, 4), [{"pixel_values": 1}], [("a", 1)], [["a", None]], None, 5], ids=str
)
def test_what_is_not_a_corpus_of_texts_is_refused_with_what_is(given):
    for measure in (el.analyse, el.causes, el.space):
        with pytest.raises(TextError, match="Give a list of strings"):
            measure(masked(), given)
