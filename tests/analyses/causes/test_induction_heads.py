"""Heads that continue what was seen before, in a real decoder: those that the scores name are those that the loss needs."""

from __future__ import annotations

import random
import statistics

import pytest
import torch

import eyeline as el
from eyeline.analyses.causes.head_scores import head_scores
from eyeline.models.embedded import embedded

pytestmark = pytest.mark.slow


def repeated_loss(model: el.Model, ids: torch.Tensor, ablated: list[tuple[int, int]]) -> float:
    """The loss on the second half of a sequence that repeats itself."""
    text = model.tokenizer.decode(ids[0])
    half = ids.shape[1] // 2
    sides = [model.read(text)]
    interventions = [[el.Ablate(ablated)]] if ablated else None
    logits = model.passes.output(sides, interventions, inputs={"input_ids": ids, "attention_mask": torch.ones_like(ids)}).logits
    return float(torch.nn.functional.cross_entropy(logits[0, half:-1], ids[0, half + 1 :]))


def test_the_five_strongest_induction_heads_raise_the_loss_five_times_as_much_as_random_ones():
    known = embedded("smollm2")
    if known is None or known.find() is None:
        pytest.skip("smollm2 is not installed (make setup)")
    model = el.load("smollm2")
    scores = head_scores(model)
    heads = list(zip(scores["layer"].astype(int).tolist(), scores["head"].astype(int).tolist(), strict=True))
    strength = dict(zip(heads, scores["induction"].astype(float).tolist(), strict=True))
    best = sorted(heads, key=lambda head: -strength[head])[:5]
    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    words = [draw.randrange(1000, 40000) for _ in range(20)]
    ids = torch.tensor([words + words])
    if len(model.read(model.tokenizer.decode(ids[0])).source) != ids.shape[1]:
        words = model.tokenizer.encode(" river table green seven music paper stone apple winter garden doctor bridge")
        ids = torch.tensor([words + words])
    whole = repeated_loss(model, ids, [])
    rise = repeated_loss(model, ids, best) - whole
    others = [head for head in heads if head not in best]
    by_chance = [repeated_loss(model, ids, draw.sample(others, 5)) - whole for _ in range(11)]
    assert rise > 0
    assert rise >= 5 * statistics.median(by_chance)  # a few heads of the first layers matter to everything: the mean would be theirs
