"""Fold the shards of an analysis by its engine. An analysis describes its work (`Work`), and knows nothing of engines."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

from eyeline.analyses.engines.choose import as_engine
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.engines.parts import Item, Part
from eyeline.analyses.engines.schedule import Schedule
from eyeline.analyses.engines.work import AnyShard, AnySums, ReportStatus, ShardOutcome, Status, Work
from eyeline.analyses.progress import ReportWork
from eyeline.models.model import Model
from eyeline.results.facts import EngineFacts

Sums = TypeVar("Sums")


class LocalFold(Generic[AnyShard, AnySums]):
    """Folds shards in this process, one after the other."""

    def __init__(self, work: Work[AnyShard, AnySums], model: Model, report: ReportStatus | None) -> None:
        self._fold, self._report = work.open(model), report

    def results(self, shards: Iterable[AnyShard]) -> Iterator[ShardOutcome[AnySums]]:
        """The sums of each shard, in their order."""
        documents = tokens = 0
        for shard in shards:
            folded = self._fold(shard)
            documents, tokens = documents + shard.n_documents, tokens + folded.tokens
            yield ShardOutcome(folded.sums)
            if self._report is not None:
                self._report(Status(documents, tokens, None))


@contextmanager
def open_fold(
    work: Work[AnyShard, AnySums], model: Model, engine: Engine | None, report: ReportStatus | None = None
) -> Iterator[LocalFold[AnyShard, AnySums] | Schedule[AnyShard, AnySums]]:
    """The object that folds the shards of this work: in this process where there is no engine, else by the workers of the engine."""
    if engine is None:
        yield LocalFold(work, model, report)
    else:
        with engine.session(work, model, report) as schedule:
            yield schedule


def engine_facts(engine: Engine, schedule: Schedule[Any, Any], largest_shard: int) -> EngineFacts:
    """What a run records of the workers that folded it."""
    return EngineFacts(
        name=engine.name,
        workers=schedule.n_workers,
        threads=schedule.needs.threads,
        machines=schedule.pool.n_machines(),
        shards=schedule.shards,
        documents_in_a_shard=largest_shard,
        retries=schedule.retries,
        gpus_per_worker=float(schedule.needs.gpus_per_worker),
    )


@dataclass(frozen=True)
class PartsFolded:
    """How the parts of a list were folded.

    skipped   item → why it is in no sum: it broke the worker that read it, twice
    left_out  the indices of these items
    engine    where, if not in this process
    """

    skipped: dict[str, str] = field(default_factory=dict)
    left_out: frozenset[int] = frozenset()
    engine: EngineFacts | None = None

    @property
    def counts(self) -> dict[str, int]:
        """For the counts of a run: how many items were skipped, if any."""
        return {"broke": len(self.skipped)} if self.skipped else {}

    @property
    def reasons(self) -> list[str]:
        """Why the first item was skipped, for an error where nothing is left."""
        return [f"The first: {name}, {why}." for name, why in self.skipped.items()][:1]

    @property
    def dropped(self) -> dict[str, dict[str, str]]:
        """For what a run has dropped: these items, if any."""
        return {"broke": self.skipped} if self.skipped else {}


def fold_parts(
    work: Work[Part[Item], Sums],
    model: Model,
    parts: Iterable[Part[Item]],
    take: Callable[[Part[Item], Sums], None],
    engine: Engine | str | None = None,
    report: ReportWork | None = None,
) -> PartsFolded:
    """Fold every part, and give its sums to `take` in the order of the parts: so the result is the same for every engine.

    take     gets a part without the items that were skipped, and its sums
    report   called after each part
    """
    chosen, given = as_engine(engine), list(parts)
    total = sum(part.n_documents for part in given)
    skipped: dict[str, str] = {}
    left_out: set[int] = set()

    def report_status(status: Status) -> None:
        if report is not None:
            report(status.documents, total, status.tokens, status.alive)

    with open_fold(work, model, chosen, report_status) as fold:
        for part, outcome in zip(given, fold.results(given), strict=True):
            kept = part.without(outcome.skipped) if outcome.skipped else part
            skipped |= outcome.skipped
            left_out |= set(part.indices) - set(kept.indices)
            if outcome.sums is not None:
                take(kept, outcome.sums)
        facts = None
        if chosen is not None and isinstance(fold, Schedule):
            facts = engine_facts(chosen, fold, max((part.n_documents for part in given), default=0))
    return PartsFolded(skipped, frozenset(left_out), facts)
