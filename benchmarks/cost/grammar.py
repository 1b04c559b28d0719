"""What do the grammar analyses cost? Ratios in one run, JSON out.

    python -m benchmarks.cost.grammar [--only syntax] [--treebank FILE] [--limit 500] [--repeats 3] [-o grammar.json]

syntax   el.syntax over a treebank (en_ewt-dev if it exists, else the built-in one) with the embedded model, against its plain forward
         passes (SDPA, no maps) at the same batching, on texts already tokenised. `scoring` is the pass with the scoring of every head, on
         the same texts; `syntax` the whole call: tokenising, the tables, the examples, the example's trace, the hash of the weights.
"""

from __future__ import annotations

import argparse
import multiprocessing
import platform
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.output import DATA, give
from benchmarks.process import plain_pass


def timed(run: Callable[[], Any]) -> float:
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def syntax(treebank: Path | None, limit: int | None, repeats: int) -> dict[str, Any]:
    """All three in one process, turn by turn, so that a busy machine slows them alike; the first turn warms up."""
    import eyeline as el
    from eyeline.measure.grammar.result import gold_of, halves
    from eyeline.measure.grammar.score import Tally
    from eyeline.measure.statistics.word_maps import each_word_map, read_words
    from eyeline.models.attention import IMPLEMENTATION

    bank = el.treebanks.sample_treebank(2000) if treebank is None else el.treebanks.read_treebank(treebank)
    sentences = list(bank)[:limit]
    model = el.load("minilm")
    texts = read_words(model, [sentence.words for sentence in sentences], [sentence.spaces for sentence in sentences])
    golds = [gold_of(sentences[index]) for index in texts.kept]
    times: dict[str, list[float]] = {"plain": [], "scoring": [], "syntax": []}
    for _ in range(repeats + 1):
        model.hf.set_attn_implementation("sdpa")
        times["plain"].append(timed(lambda: plain_pass(model, texts.examples)))
        model.hf.set_attn_implementation(IMPLEMENTATION)
        times["scoring"].append(timed(lambda: each_word_map(model, texts, Tally(golds, halves(len(golds), 0)).update)))
        times["syntax"].append(timed(lambda: el.syntax(model, sentences)))
    results: dict[str, Any] = {f"{name}_s": min(values[1:]) for name, values in times.items()}
    results["scoring_to_plain"] = results["scoring_s"] / results["plain_s"]
    results["syntax_to_plain"] = results["syntax_s"] / results["plain_s"]
    return {"treebank": bank.name, "sentences": len(texts.examples), "tokens": texts.counts["tokens"], "repeats": repeats, **results}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", nargs="+", choices=["syntax"], default=["syntax"])
    parser.add_argument("--treebank", type=Path)
    parser.add_argument("--limit", type=int, help="the number of sentences of the treebank to use")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    default = DATA / "en_ewt-dev.conllu.gz"
    treebank = arguments.treebank or (default if default.exists() else None)
    results: dict[str, Any] = {"machine": {"system": platform.platform(), "cpu_count": multiprocessing.cpu_count()}}
    if "syntax" in arguments.only:
        results["syntax"] = syntax(treebank, arguments.limit, arguments.repeats)
    give(results, arguments.output)


if __name__ == "__main__":
    main()
