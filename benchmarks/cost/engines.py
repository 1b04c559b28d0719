"""What workers cost, for 1, 2 and 4 processes, and what the process that starts a run does for them. Prints JSON.

    python -m benchmarks.cost.engines [--documents 1024] [--model minilm] [-o engines.json]

workers   for each number of them: wall and processor milliseconds for each document, how many times as fast as one worker, processor
          seconds to start a worker, kilobytes of the sums of a shard, processor milliseconds to add them to the run
reading   documents a second that one core reads from a text file and packs into shards, and bytes of a packed document

What is done once, such as the start of workers, is left out: two runs of different lengths are compared. Processor time hardly depends on
what else the machine does. Wall time means something only where each worker has a core of its own and nothing else runs: the load and the
cores are given too. Each worker has one thread.
"""

from __future__ import annotations

import argparse
import itertools
import os
import pickle
import resource
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import eyeline as el
from benchmarks.output import give
from eyeline.measure.engines.work import ShardResult
from eyeline.measure.runs.progress import Progress
from eyeline.measure.statistics import loop
from eyeline.measure.statistics.loop import DocumentShard, ShardSums
from eyeline.measure.statistics.prepare import GROUP

TEXT = "the cat sat on the mat and looked at the old house near the river where a dog ran home every day of the long year"
#: Documents that are read and packed.
READ = 200_000


@dataclass(frozen=True)
class Cost:
    """Of one run: seconds of wall time, until the first worker was ready, of the workers' processors, and to add the sums of all shards,
    whose bytes are `merged`."""

    wall: float
    ready: float
    processor: float
    adding: float
    merged: int


def cost(model: str, documents: int, workers: int) -> Cost:
    """Measure `documents` short documents with `workers` processes."""
    texts = [f"{TEXT} {TEXT} , number {i}" for i in range(documents)]
    merged, adding = 0, 0.0
    ready: list[float] = []
    add = loop.LoopOfWorkers._add_sums

    def counting(self: loop.LoopOfWorkers, outcome: ShardResult[ShardSums]) -> None:
        nonlocal merged, adding
        merged += len(pickle.dumps(outcome.sums))
        before = time.thread_time()
        add(self, outcome)
        adding += time.thread_time() - before

    def progress(now: Progress) -> None:
        if now.workers and not ready:
            ready.append(time.monotonic() - started)

    loop.LoopOfWorkers._add_sums = counting  # type: ignore[method-assign]
    before, started = _children(), time.monotonic()
    el.analyse(
        model, texts, [el.statistics.AverageAttention(), el.statistics.Entropy()], engine=el.runs.Processes(workers), progress=progress
    )
    loop.LoopOfWorkers._add_sums = add  # type: ignore[method-assign]
    return Cost(time.monotonic() - started, ready[0], _children() - before, adding, merged)


def _children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def reading() -> dict[str, float]:
    """Documents of a text file, packed as they are sent to workers."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "corpus.txt"
        path.write_text("\n\n".join(f"{TEXT} {TEXT} , number {i}" for i in range(READ)), encoding="utf-8")
        corpus = el.corpora.read_corpus(path)
        before, packed, documents = time.process_time(), 0, iter(corpus)
        while group := tuple(itertools.islice(documents, GROUP)):
            packed += len(pickle.dumps(DocumentShard(0, group, True)))
        seconds = time.process_time() - before
    return {"documents": READ, "documents_a_second": round(READ / seconds), "bytes_each": round(packed / READ)}


def measured(model: str, documents: int) -> list[dict[str, Any]]:
    """A row for each number of workers."""
    rows: list[dict[str, Any]] = []
    for workers in (1, 2, 4):
        few, many = cost(model, GROUP * workers, workers), cost(model, GROUP * workers + documents, workers)
        each = (many.processor - few.processor) / documents
        shards = workers + documents / GROUP
        rows.append(
            {
                "workers": workers,
                "wall_ms": round(1000 * (many.wall - few.wall) / documents, 1),
                "processor_ms": round(1000 * each, 1),
                "start_s": round((few.processor - GROUP * workers * each) / workers, 1),
                "kilobytes_a_shard": round(many.merged / shards / 1000),
                "adding_ms_a_shard": round(1000 * many.adding / shards, 2),
                "whole_s": round(many.wall),
                "first_ready_s": round(many.ready),
                "load": round(os.getloadavg()[0], 1),
            }
        )
        rows[-1]["times_as_fast"] = round(rows[0]["wall_ms"] / rows[-1]["wall_ms"], 2)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--documents", type=int, default=1024)
    parser.add_argument("--model", default="minilm")
    parser.add_argument("-o", "--out", type=Path)
    options = parser.parse_args()
    tokens = len(el.load(options.model).read(f"{TEXT} {TEXT} , number 1").source)
    about = {"model": options.model, "documents": options.documents, "tokens": tokens, "cores": os.cpu_count()}
    give({**about, "workers": measured(options.model, options.documents), "reading": reading()}, options.out)


if __name__ == "__main__":
    main()
