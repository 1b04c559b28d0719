"""What workers cost: processor time for each document and for the start, and the bytes that are merged, for 1, 2 and 4 processes.

    python -m benchmarks.cost.engines [--documents 1024] [--model minilm]

Processor time hardly depends on what else the machine does. Wall time, and how much faster several workers are than one, mean something
only where each worker has a core of its own and nothing else runs: the load and the cores are printed too. Each worker has one thread.
"""

from __future__ import annotations

import argparse
import os
import pickle
import resource
import time
from dataclasses import dataclass

import eyeline as el
from eyeline.analyses.corpus import loop
from eyeline.analyses.corpus.shards import ShardSums
from eyeline.analyses.engines.work import ShardOutcome
from eyeline.analyses.progress import Progress

TEXT = "the cat sat on the mat and looked at the old house near the river where a dog ran home every day of the long year"


@dataclass(frozen=True)
class Cost:
    """Of one run: seconds of wall time, until the first worker was ready, of the workers' processors; bytes of the sums of all shards."""

    wall: float
    ready: float
    processor: float
    merged: int


def cost(model: str, documents: int, workers: int) -> Cost:
    """Fold `documents` short documents with `workers` processes."""
    texts = [f"{TEXT} {TEXT} , number {i}" for i in range(documents)]
    merged = 0
    ready: list[float] = []
    add = loop.LoopOfWorkers._add

    def counting(self: loop.LoopOfWorkers, outcome: ShardOutcome[ShardSums]) -> None:
        nonlocal merged
        merged += len(pickle.dumps(outcome.sums))
        add(self, outcome)

    def progress(now: Progress) -> None:
        if now.workers and not ready:
            ready.append(time.monotonic() - started)

    loop.LoopOfWorkers._add = counting  # type: ignore[method-assign]
    before, started = _children(), time.monotonic()
    el.analyse(
        model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy()], engine=el.runs.Processes(workers), progress=progress
    )
    loop.LoopOfWorkers._add = add  # type: ignore[method-assign]
    return Cost(time.monotonic() - started, ready[0], _children() - before, merged)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--documents", type=int, default=1024)
    options.add_argument("--model", default="minilm")
    given = options.parse_args()
    el.load(given.model)  # what is unpacked once is unpacked
    tokens = 2 * len(TEXT.split()) + 5
    print(f"{given.model}, {given.documents} documents of about {tokens} tokens, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}")
    single: float | None = None  # documents a second of one worker
    for workers in (1, 2, 4):
        few, many = cost(given.model, 256 * workers, workers), cost(given.model, 256 * workers + given.documents, workers)
        each = (many.processor - few.processor) / given.documents
        start = (few.processor - 256 * workers * each) / workers
        rate = given.documents / (many.wall - few.wall)  # what is done once, such as the start of workers, falls out
        single = single or rate
        print(
            f"{workers} workers: wall {1000 / rate:.1f} ms for each document, {rate / single:.2f} times the speed of one;"
            f" processor {1000 * each:.1f} ms for each document, {start:.1f} s for the start of each worker;"
            f" {many.merged / (workers + given.documents / 256) / 1000:.0f} kB merged for each shard;"
            f" the whole run {many.wall:.0f} s, first worker ready after {many.ready:.0f} s, load {os.getloadavg()[0]:.1f}",
            flush=True,
        )


if __name__ == "__main__":
    main()
