"""Engines, and the session of an engine: its workers live from its beginning to its end."""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, ClassVar, Literal

from eyeline.analyses.engines.assignment import assignment_by_name
from eyeline.analyses.engines.pool import Needs, Pool
from eyeline.analyses.engines.processes import ProcessPool
from eyeline.analyses.engines.schedule import Schedule
from eyeline.analyses.engines.work import ReportStatus, Work
from eyeline.errors import TextError
from eyeline.models.model import Model

EngineName = Literal["local", "processes", "ray"]
LARGEST_WORKERS = 10_000


class Engine(ABC):
    """Where the shards of an analysis are folded."""

    name: ClassVar[EngineName]

    @abstractmethod
    def check(self) -> None:
        """Refuse what cannot work, before a model is opened or a folder written."""

    @abstractmethod
    def needs(self) -> Needs:
        """How many workers, and what each needs."""

    @abstractmethod
    def pool(self, work: Work[Any, Any], model: Model) -> Pool:
        """The workers for this work with this model; an error where there can be none."""

    @contextmanager
    def session(self, work: Work[Any, Any], model: Model, report: ReportStatus | None = None) -> Iterator[Schedule[Any, Any]]:
        """Start workers, which open the model at once and end with the session."""
        pool = self.pool(work, model)
        try:
            yield Schedule(pool, self.needs(), report)
        finally:
            pool.close()


@dataclass(frozen=True)
class Processes(Engine):
    """Processes of this machine, which share its GPUs where it has some.

    workers   how many; without it, as many as this machine has cores for
    threads   of each: another number may round sums differently, another number of workers never does
    """

    workers: int | None = None
    threads: int = 1
    name: ClassVar[EngineName] = "processes"

    def check(self) -> None:
        check_counts(self.workers, self.threads)

    def needs(self) -> Needs:
        self.check()
        return Needs(self.workers or max(1, (os.cpu_count() or 1) // self.threads), self.threads)

    def pool(self, work: Work[Any, Any], model: Model) -> Pool:
        import torch

        return ProcessPool(assignment_by_name(work, model), self.needs(), torch.cuda.device_count())


def check_counts(workers: int | None, threads: int, gpus_per_worker: float = 0) -> None:
    """Refuse numbers of workers, threads and GPUs that are out of range."""
    if workers is not None and (not isinstance(workers, int) or not 1 <= workers <= LARGEST_WORKERS):
        raise TextError(f"{workers!r} workers.", f"Give 1 to {LARGEST_WORKERS:,}.")
    if not isinstance(threads, int) or threads < 1:
        raise TextError(f"{threads!r} threads for each worker.", "Give 1 or more.")
    if gpus_per_worker < 0:
        raise TextError(f"{gpus_per_worker} GPUs for each worker.", "Give 0, 1 or more, or a share such as 0.5.")
