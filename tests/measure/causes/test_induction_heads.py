"""Heads that continue what was seen before, in a real decoder: those that the scores name are those that the loss needs."""

from __future__ import annotations

import random
from statistics import mean, median
from typing import Literal

import pytest
import torch

import eyeline as el
from eyeline.look.embedded import embedded
from eyeline.models.inputs import Example

pytestmark = pytest.mark.slow
#: Random tokens are drawn from these ids: no special ones.
IDS = range(1000, 40000)
LENGTH, DRAWS, TOGETHER = 25, 20, 7
Head = tuple[int, int]


def rises(model: el.Model, ids: list[int], groups: list[list[Head]], by: Literal["zero", "mean"]) -> list[float]:
    """How much the loss on the second half of a sequence that repeats itself rises without each group of heads, in nats."""
    losses = []
    for first in range(0, len(groups) + 1, TOGETHER):
        part = [[], *groups][first : first + TOGETHER]  # the whole model first
        examples = [Example(el.traces.TokenizedText.from_tokens([str(i) for i in ids]))] * len(part)
        changes = [[el.Ablate(heads, by=by)] if heads else [] for heads in part]
        inputs = {"input_ids": torch.tensor([ids] * len(part)), "attention_mask": torch.ones(len(part), len(ids), dtype=torch.long)}
        with torch.no_grad():
            logits = model.passes.output(examples, changes, inputs=inputs).logits[:, LENGTH:-1]
        expected = torch.tensor(ids[LENGTH + 1 :])
        losses += [float(torch.nn.functional.cross_entropy(text, expected)) for text in logits]
    return [loss - losses[0] for loss in losses[1:]]


def strongest(model: el.Model, n: int = 5) -> tuple[list[Head], list[Head]]:
    """The heads with the highest induction scores, and all others."""
    rows = sorted(el.attributions.head_scores(model).rows(), key=lambda row: -float(row["induction"]))
    heads = [(int(row["layer"]), int(row["head"])) for row in rows]
    return heads[:n], heads[n:]


def test_the_five_strongest_induction_heads_raise_the_loss_five_times_as_much_as_random_ones():
    known = embedded("smollm2")
    if known is None or known.find() is None:
        pytest.skip("smollm2 is not installed (make setup)")
    model = el.load("smollm2")
    best, others = strongest(model)
    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    part = draw.sample(IDS, LENGTH)
    drawn = [draw.sample(others, 5) for _ in range(DRAWS)]
    by_chance: dict[str, list[float]] = {}
    rise: dict[str, float] = {}
    for by in ("mean", "zero"):
        rise[by], *by_chance[by] = rises(model, part + part, [best, *drawn], by)
        print(f"{by}: without induction heads +{rise[by]:.3f}, without others {[round(value, 3) for value in by_chance[by]]}")
        print(f"mean {mean(by_chance[by]):.3f}, median {median(by_chance[by]):.3f}")
    assert rise["mean"] >= 5 * max(0, mean(by_chance["mean"])) > 0
    # a few heads of the first layers write nearly the same for every text; zero takes that away too, and few draws hold the mean
    assert rise["zero"] >= 5 * median(by_chance["zero"]) > 0
