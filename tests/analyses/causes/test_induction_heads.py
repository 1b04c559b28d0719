"""Heads that continue what was seen before, in a real decoder: those that the scores name are those that the loss needs."""

from __future__ import annotations

import random
import statistics

import pytest
import torch

import eyeline as el
from eyeline.analyses.causes.head_scores import head_scores
from eyeline.capture.collect import Sides
from eyeline.models.embedded import embedded
from eyeline.text.tokenized import TokenizedText

pytestmark = pytest.mark.slow
#: Random tokens are drawn from these ids: no special ones.
IDS = range(1000, 40000)
TEXTS, LENGTH, DRAWS = 3, 25, 10
Head = tuple[int, int]


def repeated_tokens(draw: random.Random) -> torch.Tensor:
    """Random tokens, twice: [text, token]"""
    parts = [draw.sample(IDS, LENGTH) for _ in range(TEXTS)]
    return torch.tensor([part + part for part in parts])


def repeated_loss(model: el.Model, ids: torch.Tensor, ablated: list[Head]) -> float:
    """The mean loss on the second half of sequences that repeat themselves, in nats."""
    sides = [Sides(TokenizedText.from_tokens([str(i) for i in row])) for row in ids.tolist()]
    interventions = [[el.Ablate(ablated)]] * len(ids) if ablated else None
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        logits = model.passes.output(sides, interventions, inputs=inputs).logits
    return float(torch.nn.functional.cross_entropy(logits[:, LENGTH:-1].flatten(0, 1), ids[:, LENGTH + 1 :].flatten()))


def strongest(model: el.Model, n: int = 5) -> tuple[list[Head], list[Head]]:
    """The heads with the highest induction scores, and all others."""
    rows = sorted(head_scores(model).rows(), key=lambda row: -float(row["induction"]))
    heads = [(int(row["layer"]), int(row["head"])) for row in rows]
    return heads[:n], heads[n:]


def test_the_five_strongest_induction_heads_raise_the_loss_five_times_as_much_as_random_ones_by_the_median():
    known = embedded("smollm2")
    if known is None or known.find() is None:
        pytest.skip("smollm2 is not installed (make setup)")
    model = el.load("smollm2")
    best, others = strongest(model)
    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    ids = repeated_tokens(draw)
    whole = repeated_loss(model, ids, [])
    rise = repeated_loss(model, ids, best) - whole
    by_chance = [repeated_loss(model, ids, draw.sample(others, 5)) - whole for _ in range(DRAWS)]
    print(f"without induction heads +{rise:.3f}, without others {[round(value, 3) for value in by_chance]}, of {whole:.3f} nats")
    assert rise > 0
    assert rise >= 5 * statistics.median(by_chance)  # a few heads of the first layers matter to everything: the mean would be theirs
