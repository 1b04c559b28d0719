"""Heads that continue what was seen before, and what the loss does without them, as the section `induction` of docs/results.md.

python -m benchmarks.tables.induction [--model smollm2]
"""

from __future__ import annotations

import argparse
import random
import statistics
from collections.abc import Sequence
from typing import Literal

import torch

import eyeline as el
from benchmarks.output import markdown_table, put_section
from eyeline.models.inputs import Example

#: Random tokens are drawn from these ids: no special ones.
IDS = range(1000, 40000)
TEXTS, LENGTH, DRAWS, TOP = 3, 25, 30, 5
#: Layers whose heads are also ablated one by one: some of them write nearly the same for every text.
FIRST_LAYERS = 3
HEADER = ["ablated by", "the strongest", "others, mean", "ratio", "others, median", "ratio"]
SCORES = ("previous", "duplicate", "induction", "copying")
Head = tuple[int, int]


def repeated_tokens(draw: random.Random) -> torch.Tensor:
    """Random tokens, twice: [text, token]"""
    parts = [draw.sample(IDS, LENGTH) for _ in range(TEXTS)]
    return torch.tensor([part + part for part in parts])


def repeated_loss(model: el.Model, ids: torch.Tensor, ablated: Sequence[Head] = (), by: Literal["zero", "mean"] = "zero") -> float:
    """The mean loss on the second half of sequences that repeat themselves, in nats."""
    examples = [Example(el.traces.TokenizedText.from_tokens([str(i) for i in row])) for row in ids.tolist()]
    interventions = [[el.Ablate(list(ablated), by=by)]] * len(ids) if ablated else None
    inputs = {"input_ids": ids, "attention_mask": torch.ones_like(ids)}
    with torch.no_grad():
        logits = model.passes.output(examples, interventions, inputs=inputs).logits
    return float(torch.nn.functional.cross_entropy(logits[:, LENGTH:-1].flatten(0, 1), ids[:, LENGTH + 1 :].flatten()))


def section(model: el.Model) -> str:
    every = list(el.attributions.head_scores(model).rows())
    order = [(int(row["layer"]), int(row["head"])) for row in sorted(every, key=lambda row: -float(row["induction"]))]
    scores = []
    for name in SCORES:
        best = sorted(every, key=lambda row: -float(row[name]))[:TOP]
        scores.append([name, ", ".join(f"L{row['layer']}·H{row['head']} {float(row[name]):.2f}" for row in best)])
    draw = random.Random(0)  # noqa: S311 - seeded, not a secret
    ids = repeated_tokens(draw)
    whole = repeated_loss(model, ids)
    drawn = [draw.sample(order[TOP:], TOP) for _ in range(DRAWS)]
    return f"""## Heads that continue what was seen before: {model.name}

`python -m benchmarks.tables.induction`: 50 random tokens read twice. Half of the tokens have no earlier copy, so 0.5 is the most that
`duplicate` and `induction` can reach. The strongest of {len(order)} heads:

{markdown_table(["score", "heads"], scores)}

What the loss on the second half of such a sequence does without the {TOP} strongest induction heads, and without {TOP} others, drawn
{DRAWS} times. {TEXTS} sequences of {LENGTH} random tokens, read twice; with all heads the loss is {whole:.2f} nats:

{markdown_table(HEADER, [_row(model, ids, order[:TOP], drawn, by, whole) for by in ("mean", "zero")])}

The mean of the others depends on the draws, because a few heads of the first layers cost much alone. Of layers
0 to {FIRST_LAYERS - 1}, these heads cost most by zero:

{markdown_table(["head", "zero", "its mean over the text"], _alone(model, ids, order, whole))}"""


def _row(
    model: el.Model, ids: torch.Tensor, best: list[Head], drawn: list[list[Head]], by: Literal["zero", "mean"], whole: float
) -> list[str]:
    rise = repeated_loss(model, ids, best, by) - whole
    others = [repeated_loss(model, ids, heads, by) - whole for heads in drawn]
    mean, median = statistics.mean(others), statistics.median(others)
    ratios = [f"{rise / mean:.1f}", f"{rise / median:.1f}"]
    return ["their mean over the text" if by == "mean" else by, f"{rise:+.2f}", f"{mean:+.2f}", ratios[0], f"{median:+.2f}", ratios[1]]


def _alone(model: el.Model, ids: torch.Tensor, heads: list[Head], whole: float) -> list[list[str]]:
    """The rise of the loss without one head of the first layers, both ways, for those that cost most by zero."""
    by_zero = {head: repeated_loss(model, ids, [head], "zero") - whole for head in heads if head[0] < FIRST_LAYERS}
    most = sorted(by_zero, key=lambda head: -by_zero[head])[:TOP]
    return [
        [f"L{head[0]}·H{head[1]}", f"{by_zero[head]:+.2f}", f"{repeated_loss(model, ids, [head], 'mean') - whole:+.2f}"] for head in most
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="smollm2")
    put_section("induction", section(el.load(parser.parse_args().model)))


if __name__ == "__main__":
    main()
