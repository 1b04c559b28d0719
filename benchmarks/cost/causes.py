"""What does it cost to ask what a head does? Ratios in one run, JSON out.

    python -m benchmarks.cost.causes [--model e5-small-mlm] [--texts 100] [--repeats 3] [-o causes.json]

ablations   every head ablated once over the texts (`HeadEffects`, with its estimates and its check), against the naive way in the same
            batches: the whole model is run again for each head. The naive time is that of some heads, times the number of heads.
estimates   gradient and attribution of all heads for one batch, against one forward pass of the same batch.
Seconds are those of the processor (all threads), so that other work on the machine does not count.
The time to one answer with a head switched off is in switched_off.py.
"""

from __future__ import annotations

import argparse
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import eyeline as el
from benchmarks.output import give
from eyeline.models.tracing import in_batches

#: How many heads are ablated the naive way.
NAIVE_HEADS = 12


def seconds(run: Callable[[], Any]) -> float:
    start = time.process_time()
    run()
    return time.process_time() - start


def ablations(model: Any, texts: list[str], repeats: int) -> dict[str, Any]:
    import torch

    from eyeline.measure.statistics.model_statistic import HELD_TOKENS
    from eyeline.statistics import HeadEffects

    examples = [model.read(text) for text in texts]
    batches = [[examples[i] for i in batch] for batch in in_batches(model.layout, examples, HELD_TOKENS)]
    heads = [(slot.stack, slot.layer, head) for slot in model.layout.slots for head in range(slot.n_heads)]
    chosen = heads[:: max(1, len(heads) // NAIVE_HEADS)][:NAIVE_HEADS]

    def naive() -> None:
        for head in chosen:
            for batch in batches:
                with torch.no_grad():
                    model.passes.output(batch, [[el.Ablate([head])]] * len(batch))

    ours, theirs = [], []
    for _ in range(repeats):
        ours.append(seconds(lambda: el.analyse(model, texts, [HeadEffects()])))
        theirs.append(seconds(naive) * len(heads) / len(chosen))
    return {
        "texts": len(texts),
        "tokens": sum(len(example.source) for example in examples),
        "heads": len(heads),
        "ours_s": round(statistics.median(ours), 2),
        "naive_s": round(statistics.median(theirs), 2),
        "ratio": round(statistics.median(a / b for a, b in zip(ours, theirs, strict=True)), 3),
    }


def estimates(model: Any, texts: list[str], repeats: int) -> dict[str, Any]:
    from eyeline.measure.corpus.effects import estimates_of
    from eyeline.measure.statistics.model_statistic import HELD_TOKENS, token_task
    from eyeline.models.objective import objective_of

    examples = [model.read(text) for text in texts]
    batch = [examples[i] for i in in_batches(model.layout, examples, HELD_TOKENS)[0]]
    task = token_task(objective_of(model), model.passes.inputs(batch), batch, 0, 0.15)
    ratios = []
    for _ in range(repeats + 1):
        forward = seconds(lambda: model.passes.output(batch, inputs=task.inputs))
        ratios.append(seconds(lambda: estimates_of(model.passes, batch, task, "zero")) / forward)
    return {"texts": len(batch), "ratio_to_forward": round(statistics.median(ratios[1:]), 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="e5-small-mlm")
    parser.add_argument("--texts", type=int, default=100)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    args = parser.parse_args()
    import torch

    model = el.load(args.model)
    paragraphs = [part.strip() for part in el.corpora.sample_text().split("\n\n") if part.strip()]
    texts = (paragraphs * (1 + args.texts // len(paragraphs)))[: args.texts]
    results = {
        "machine": {
            "processor": platform.processor() or platform.machine(),
            "threads": torch.get_num_threads(),
            "torch": torch.__version__,
        },
        "model": args.model,
        "ablations": ablations(model, texts, args.repeats),
        "estimates": estimates(model, texts, args.repeats),
    }
    give(results, args.output)


if __name__ == "__main__":
    main()
