"""What does a space cost, from text to page, against the model's plain forward passes? Prints JSON.

    python -m benchmarks.cost.space --model FOLDER_OR_NAME -o space.json

About --tokens tokens in paragraphs of some 60 words each, all heads, fitted. `forward` is the model's own pass (SDPA, nothing recorded)
over the same batches, before and after, the mean of both. `capture`, `space` (gauge, fit, fidelity), `page` and `files` (tables, figures,
report, the space itself) are the steps of `eyeline space`. wall: on the clock; processor: of all threads. The bar is 2 x forward + 120 s
on two cores; where other work shares them, half of the processor seconds says what two free cores would at best take.
"""

from __future__ import annotations

import argparse
import platform
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from benchmarks.output import give
from benchmarks.process import plain_pass

SENTENCES = (
    "the cat sat on the mat , and it saw a dog that ran a very long way home . then they slept by the fire while rain fell on"
    " every roof of the old town , whose people had left for the coast in spring ; nobody knew when they would come back to it ."
)


def texts_of(model: Any, tokens: int) -> list[str]:
    """Paragraphs with the same words in different orders, about `tokens` tokens in all."""
    words = SENTENCES.split()
    results: list[str] = []
    size = 0
    while size < tokens:
        i = len(results)
        text = " ".join(words[(i * 7 + j * (i % 5 + 1)) % len(words)] for j in range(45 + i % 30))
        size += len(model.read(text).source)
        results.append(text)
    return results


@contextmanager
def timed(into: dict[str, dict[str, float]], name: str) -> Iterator[None]:
    wall, processor = time.perf_counter(), time.process_time()
    yield
    spent = {"wall_s": time.perf_counter() - wall, "processor_s": time.process_time() - processor}
    into[name] = {key: round(into.get(name, {}).get(key, 0) + value, 2) for key, value in spent.items()}


def plainly(model: Any, run: Callable[[], None]) -> None:
    """Run with the model's own fused attention."""
    from eyeline.models.attention import IMPLEMENTATION

    model.hf.set_attn_implementation("sdpa")
    run()
    model.hf.set_attn_implementation(IMPLEMENTATION)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="minilm", help="an embedded name, a folder or a hub id")
    parser.add_argument("--tokens", type=int, default=10_000)
    parser.add_argument("-o", "--out", type=Path)
    given = parser.parse_args()
    import eyeline as el

    model = el.load(given.model)
    texts = texts_of(model, given.tokens)
    examples = [model.read(text) for text in texts]
    steps: dict[str, dict[str, float]] = {}
    plainly(model, lambda: plain_pass(model, examples[:20]))  # warm
    with timed(steps, "forward"):
        plainly(model, lambda: plain_pass(model, examples))
    corpus = el.corpora.Corpus.from_texts(texts)
    with timed(steps, "whole"), tempfile.TemporaryDirectory() as folder:
        with timed(steps, "capture and space"):
            space = el.space(model, corpus)
        with timed(steps, "page"):
            el.space_view(space).save(Path(folder) / "space.html")
        with timed(steps, "files"):
            space.save(Path(folder) / "space.safetensors")
            el.runs.write_report(space.run().save(Path(folder)))
        page = (Path(folder) / "space.html").stat().st_size
    with timed(steps, "forward"):
        plainly(model, lambda: plain_pass(model, examples))
    steps["forward"] = {name: round(value / 2, 2) for name, value in steps["forward"].items()}
    bar = {name: round(2 * value + (120 if name == "wall_s" else 240), 2) for name, value in steps["forward"].items()}
    facts = space.only.facts
    numbers = {
        "machine": platform.machine(),
        "python": platform.python_version(),
        "model": model.name,
        "heads": [len(space.only.layers), len(space.only.heads)],
        "texts": len(texts),
        "tokens": space.facts.counts["tokens"],
        "steps": steps,
        "seconds": space.facts.total_seconds,
        "bar": bar,
        "holds": {name: steps["whole"][name] <= bar[name] for name in bar},
        "page_mb": round(page / 1e6, 2),
        "top1": round(float(facts["top1_projected"].mean()), 3),
        "top5": round(float(facts["top5_projected"].mean()), 3),
    }
    give(numbers, given.out)


if __name__ == "__main__":
    main()
