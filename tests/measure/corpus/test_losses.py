"""The loss of a text against double precision, and what is not a corpus of texts."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn.functional import cross_entropy

import eyeline as el
from eyeline.errors import TextError
from eyeline.measure.statistics.model_statistic import UnchangedAnswers, text_losses
from tests.measure.causes.tiny import masked


def drawn(*shape: int) -> torch.Tensor:
    return 3 * torch.randn(*shape, generator=torch.Generator().manual_seed(len(shape)))


def strided(logits: torch.Tensor) -> torch.Tensor:
    """The same numbers, with the vocabulary along an axis whose neighbours are not neighbours in memory."""
    return logits.transpose(-1, -2).contiguous().transpose(-1, -2)


def losses_in_double(logits: torch.Tensor, labels: torch.Tensor) -> torch.Tensor:
    each = cross_entropy(logits.double().flatten(0, 1), labels.flatten(), reduction="none", ignore_index=-100).view(labels.shape)
    return each.sum(-1) / (labels >= 0).sum(-1)


@pytest.mark.parametrize("laid_out", [torch.Tensor.contiguous, strided])
@pytest.mark.parametrize("vocabulary", [64, 262_144])
def test_the_loss_and_its_changes_are_those_of_double_precision(vocabulary, laid_out):
    logits, labels = drawn(2, 3, vocabulary), torch.randint(vocabulary, (2, 3), generator=torch.Generator().manual_seed(0))
    labels[1, 2] = -100
    expected = losses_in_double(logits, labels)
    assert (text_losses(laid_out(logits), labels) - expected).abs().max() < 1e-7
    variants = logits[None] + 1e-5 * drawn(2, 2, 3, vocabulary)
    changes = UnchangedAnswers.of(laid_out(logits), labels).changes(laid_out(variants))
    for variant, change in zip(variants, changes, strict=True):
        assert np.abs(change[:, 0] - (losses_in_double(variant, labels) - expected).numpy()).max() < 1e-7


def test_a_head_without_an_effect_has_the_effect_0_to_the_bit():
    logits, labels = drawn(2, 3, 30_522), torch.tensor([[1, 2, 3], [4, 5, -100]])
    assert not UnchangedAnswers.of(logits, labels).changes(logits[None].clone()).any()


@pytest.mark.parametrize(
    "given", [[torch.zeros(1, 3, 4, 4)], torch.zeros(1, 3, 4, 4), [{"pixel_values": 1}], [("a", 1)], [["a", None]], None, 5], ids=str
)
def test_what_is_not_a_corpus_of_texts_is_refused_with_what_is(given):
    for measure in (el.analyse, el.causes, el.space):
        with pytest.raises(TextError, match="Give a list of strings"):
            measure(masked(), given)
