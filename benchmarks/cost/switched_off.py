"""What does it cost to change a model? JSON out.

    python -m benchmarks.cost.switched_off [--model e5-small-mlm] [--tokens 30] [-o switched_off.json]

switched_off_ms   from the click to the new answer, in Python: one head switched off (median of many, the first one beside it)
all_heads         the answer without each head alone: naive whole passes, one for each head, against passes that begin at the changed layer
"""

from __future__ import annotations

import argparse
import os
import statistics
import time
from pathlib import Path
from typing import Any

from benchmarks.output import give

REPEATS = 15
TEXT = "The cat sat on the mat because it was tired and the old dog that lived in the house next door was"
WORDS = TEXT.split()


def text_of(model: Any, tokens: int) -> str:
    """A text with a mask, of so many tokens."""
    words = [WORDS[i % len(WORDS)] for i in range(tokens)]
    while len(model.read(" ".join([*words, "[MASK]", "."])).source) > tokens:
        words.pop()
    return " ".join([*words, "[MASK]", "."])


def seconds(call: Any) -> float:
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--model", default="e5-small-mlm")
    parser.add_argument("--tokens", type=int, default=30)
    parser.add_argument("-o", "--output", type=Path)
    options = parser.parse_args()

    import eyeline as el
    from eyeline.views.answer.live_answer import answer_without

    model = el.load(options.model, device="cpu")
    trace = model.trace(text_of(model, options.tokens))
    first = seconds(lambda: answer_without(model, trace, "L4·H4"))
    times = [seconds(lambda head=head: answer_without(model, trace, f"L5·H{head % 12}")) for head in range(REPEATS)]
    slots = model.layout.slots
    naive = seconds(lambda: [model.predict_again(trace, el.Ablate([(s.stack, s.layer, h)])) for s in slots for h in range(s.n_heads)])
    shared = seconds(lambda: model.head_effects(trace))
    give(
        {
            "model": options.model,
            "tokens": len(trace.text),
            "cores": os.cpu_count(),
            "switched_off_ms": {"first": round(1000 * first, 1), "median": round(1000 * statistics.median(times), 1)},
            "all_heads": {"naive_s": round(naive, 2), "shared_s": round(shared, 2), "ratio": round(shared / naive, 3)},
        },
        options.output,
    )


if __name__ == "__main__":
    main()
