"""Interventions that cannot be made are refused with a sentence that says what exists."""

from __future__ import annotations

from copy import deepcopy

import numpy as np
import pytest
import torch

import eyeline as el
from eyeline.errors import EyelineError, ModelError
from tests.models.families import BY_NAME, tiny_tokenizer

TEXT = "the cat sat on the mat ."


def opened(name: str) -> el.Model:
    family = BY_NAME[name]
    return el.wrap(family.model(), tiny_tokenizer(), name=name)


@pytest.fixture(scope="module")
def bert() -> el.Model:
    return opened("bert")


@pytest.mark.parametrize(
    ("intervention", "sentence"),
    [
        (el.Ablate([(3, 0)]), r"bert has no layer 3.\n  The encoder's layers are 0…2"),
        (el.Ablate([(-1, 0)]), "no layer -1"),
        (el.Ablate([(0, 4)]), r"no head 4 in layer 0.\n  Its heads there are 0…3"),
        (el.Ablate([("cross", 0, 1)]), r"no 'cross' attention.\n  It has: encoder"),
        (el.Ablate([]), "Ablate of no head"),
        (el.Ablate(["L0·H1"]), r"A head given as 'L0·H1'"),
        (el.Ablate([(0.5, 1)]), "not a whole number"),
        (el.Ablate([(0, 1)], by="median"), r"Ablation by 'median'.\n  Choices: zero, mean, resample"),
        (el.Ablate([(0, 1)], by="resample"), "without another text"),
        (el.Scale([(0, 1)], float("nan")), "Scale by nan"),
        (el.Scale([(0, 1)], "half"), "Scale by 'half'"),
        (el.KnockOut([9], [0]), r"Query 9 of a text of 9 tokens.\n  Positions are 0…8"),
        (el.KnockOut([0], [-1]), "Key -1 of a text of 9 tokens"),
        (el.KnockOut([0], []), "Key of no token"),
        (el.ZeroValues(12), "Key 12"),
        (el.Patch({(0, 1): np.zeros((4, 8))}), "from a text of 4 tokens into one of 9"),
        (el.Patch({(0, 1): np.zeros((4, 8))}, positions=5), "Position 5 of a text of 4 tokens"),
        (el.Patch({}, heads=[(0, 1)]), "No output of encoder L0·H1"),
        ("L0·H1", r"An intervention given as 'L0·H1'.\n  Use el.Ablate"),
        (7, "An intervention given as 7"),
    ],
)
def test_an_intervention_that_cannot_be_made_is_refused_in_words(bert, intervention, sentence):
    with pytest.raises(EyelineError, match=sentence):
        bert.trace(TEXT, interventions=intervention)


def test_a_trace_of_another_model_of_the_same_shape_is_refused_and_a_copy_is_not(bert):
    other, copy = opened("bert"), deepcopy(bert)
    with torch.no_grad():
        next(other.hf.parameters()).mul_(2)
    foreign = other.trace(TEXT)
    for intervention in (el.Patch(foreign, [(1, 2)]), el.Ablate([(1, 2)], "resample", foreign), el.Ablate([(1, 2)], "mean", [foreign])):
        with pytest.raises(EyelineError, match="from a trace of another model"):
            bert.trace(TEXT, interventions=intervention)
        other.trace(TEXT, interventions=intervention)
    own = el.Patch(copy.trace("a dog ran home very long ?"), [(1, 2)])
    assert bert.trace(TEXT, interventions=own).about["interventions"]


def test_the_name_of_the_weights_changes_with_them():
    model = opened("bert")
    before = model.trace(TEXT).about["weights"]
    with torch.no_grad():
        next(model.hf.parameters()).mul_(2)
    assert model.trace(TEXT).about["weights"] != before


def test_a_model_with_several_stacks_asks_which_is_meant():
    bart = opened("bart")
    for intervention in (el.Ablate([(0, 1)]), el.KnockOut([0], [1]), el.ZeroValues([1])):
        with pytest.raises(EyelineError, match=r"3 kinds of attention.\n  Say which"):
            bart.trace(TEXT, "it ran .", interventions=intervention)


def test_a_model_outside_the_interface_cannot_be_changed_and_says_why():
    with pytest.raises(ModelError, match=r"Nothing can be changed inside bloom: .*attention interface"):
        opened("bloom").trace(TEXT, interventions=el.Ablate([(0, 1)]))


def test_a_trace_of_a_smaller_model_or_without_values_cannot_be_patched_in(bert):
    with pytest.raises(EyelineError, match="no values"):
        bert.trace(TEXT, interventions=el.Patch(bert.trace(TEXT, keep={"weights"}), [(0, 1)]))
    with pytest.raises(EyelineError, match="The trace has no encoder L2·H1"):
        bert.trace(TEXT, interventions=el.Patch(bert.trace(TEXT, layers=[0]), [(2, 1)]))
