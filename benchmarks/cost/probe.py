"""How long do probes take to train? JSON out.

    python -m benchmarks.cost.probe [--sentences 3000] [--layers 12] [--heads 12] [--seeds 1] [-o probe.json]

Every probe on made-up maps of 3,000 sentences x 144 heads with 100-dimensional words, one sentence a step, as `eyeline probe` trains
them: the times do not depend on what the maps say. Lengths are drawn as English-EWT's are spread (a mean of 16 words, a long tail to 100).
`train` is one pass over the sentences, `score` a pass over 2,000 test sentences; wall and processor seconds, since machines are shared.
The bar: all of a run's training (four probes) in under two minutes on two cores.
"""

from __future__ import annotations

import argparse
import platform
import time
from collections import Counter
from pathlib import Path

import numpy as np
import torch

from benchmarks.output import give
from eyeline.measure.probes.features import GoldSentences, Heads, Maps, WordVectors
from eyeline.measure.probes.training import AttentionAndWords, AttentionOnly, DistancesAndWords, ProbeData, evaluate, train
from eyeline.measure.statistics.word_maps import WordTexts

DIMS, VOCABULARY, TEST = 100, 10_000, 2000


def made_up(name: str, n_sentences: int, heads: Heads, random: np.random.Generator) -> ProbeData:
    """Sentences of random words, random trees and random attention."""
    lengths = np.clip(random.lognormal(2.45, 0.85, n_sentences).astype(int), 1, 100)
    gold = GoldSentences(
        (),
        WordTexts((), (), Counter(), {}),
        tuple(torch.from_numpy(random.integers(0, n + 1, n)) for n in lengths),
        tuple(torch.from_numpy(random.random(n) < 0.88) for n in lengths),
        2,
        n_sentences,
    )
    maps = Maps(gold, heads)
    for index in range(n_sentences):
        shape = maps.shapes[index]
        maps._of(index)[...] = random.random(shape, np.float32) / shape[1] * 2
    table = torch.from_numpy(random.normal(0, 0.5, (VOCABULARY, DIMS)).astype(np.float32))
    rows = {name: tuple(torch.from_numpy(random.integers(0, VOCABULARY, n)) for n in lengths)}
    return ProbeData(name, gold, maps, WordVectors("made up", table, rows, 1.0))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sentences", type=int, default=3000)
    parser.add_argument("--layers", type=int, default=12)
    parser.add_argument("--heads", type=int, default=12)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("-o", "--output", type=Path)
    arguments = parser.parse_args()
    heads = Heads(*zip(*((i, j) for i in range(arguments.layers) for j in range(arguments.heads)), strict=True))
    random = np.random.default_rng(0)
    learn, score = made_up("train", arguments.sentences, heads, random), made_up("test", TEST, heads, random)
    probes = {
        "distances + words": lambda start: DistancesAndWords(DIMS, start),
        "attention-only": lambda start: AttentionOnly(len(heads), 2, start),
        "attention + words": lambda start: AttentionAndWords(len(heads), 2, DIMS, start),
    }
    results: dict[str, dict[str, float]] = {}
    for name, make in probes.items():
        for seed in range(arguments.seeds):
            start = torch.Generator().manual_seed(seed)
            scorer = make(start)
            wall, processor = time.perf_counter(), time.process_time()
            train(scorer, learn, epochs=1, generator=start)
            took = {"train": time.perf_counter() - wall, "train_processor": time.process_time() - processor}
            wall, processor = time.perf_counter(), time.process_time()
            evaluate(scorer, score)
            took |= {"score": time.perf_counter() - wall, "score_processor": time.process_time() - processor}
            best = results.setdefault(name, took)
            results[name] = {key: round(min(best[key], took[key]), 2) for key in took}
        print(name, results[name], flush=True)
    twice = {"attention + words": 2}  # once more on the random network
    total = {key: round(sum(twice.get(name, 1) * item[key] for name, item in results.items()), 2) for key in results["attention-only"]}
    words = sum(map(len, learn.gold.governors))
    result = {
        "sentences": arguments.sentences, "words": words, "heads": len(heads), "seconds": results, "one seed, all four probes": total,
        "megabytes_of_maps": round(2 * int(learn.maps.starts[-1]) / 1e6), "torch": torch.__version__, "machine": platform.processor(),
    }  # fmt: skip
    give(result, arguments.output)


if __name__ == "__main__":
    main()
