"""Parts of the heads on several cores at once, reported as they end."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

import torch

from eyeline.analyses.progress import ReportStep

J = TypeVar("J")
T = TypeVar("T")


class Parallel:
    """Runs the parts of a computation as `map` does, each on a core of its own, in order; torch's own threads would wait for each other
    after each of many small steps. report: called after each part."""

    def __init__(self, report: ReportStep | None = None) -> None:
        self.report = report

    def __call__(self, work: Callable[[J], T], jobs: Sequence[J]) -> Iterator[T]:
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            with ThreadPoolExecutor(max(1, min(threads, os.cpu_count() or 1))) as pool:
                for done, result in enumerate(pool.map(work, jobs), start=1):
                    yield result
                    if self.report is not None:
                        self.report(done, len(jobs))
        finally:
            torch.set_num_threads(threads)
