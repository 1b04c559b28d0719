"""The shards of an analysis computed by its engine, or in this process."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar, get_args

from eyeline.errors import EyelineError, nearest
from eyeline.measure.engines.processes import Engine, EngineName, Processes
from eyeline.measure.engines.ray import Ray
from eyeline.measure.engines.schedule import Schedule
from eyeline.measure.engines.work import AnyShard, AnySums, Item, Part, ReportStatus, ShardResult, Status, Work
from eyeline.measure.runs.facts import EngineFacts
from eyeline.measure.runs.progress import ReportWork
from eyeline.messages import Message
from eyeline.models.model import Model

Sums = TypeVar("Sums")


def run_parts(
    work: Work[Part[Item], Sums],
    model: Model,
    parts: Iterable[Part[Item]],
    take: Callable[[Part[Item], Sums], None],
    engine: Engine | str | None = None,
    report: ReportWork | None = None,
) -> PartsOutcome:
    """Compute every part, and give its sums to `take` in the order of the parts: so the result is the same for every engine.

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

    with open_session(work, model, chosen, report_status) as session:
        for part, outcome in zip(given, session.results(given), strict=True):
            kept = part.without(outcome.skipped) if outcome.skipped else part
            skipped |= outcome.skipped
            left_out |= set(part.indices) - set(kept.indices)
            if outcome.sums is not None:
                take(kept, outcome.sums)
        facts = None
        if chosen is not None and isinstance(session, Schedule):
            facts = engine_facts(chosen, session, max((part.n_documents for part in given), default=0))
    return PartsOutcome(skipped, frozenset(left_out), facts)


@dataclass(frozen=True)
class PartsOutcome:
    """How the parts of a list were computed.

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
    def dropped(self) -> dict[str, dict[str, Message]]:
        """For what a run has dropped: these items, if any."""
        return {"broke": {name: Message.of(why) for name, why in self.skipped.items()}} if self.skipped else {}


@contextmanager
def open_session(
    work: Work[AnyShard, AnySums], model: Model, engine: Engine | None, report: ReportStatus | None = None
) -> Iterator[LocalSession[AnyShard, AnySums] | Schedule[AnyShard, AnySums]]:
    """The object that computes the shards of this work: in this process where there is no engine, else by the workers of the engine."""
    if engine is None:
        yield LocalSession(work, model, report)
    else:
        with engine.session(work, model, report) as schedule:
            yield schedule


class LocalSession(Generic[AnyShard, AnySums]):
    """Computes shards in this process, one after the other."""

    def __init__(self, work: Work[AnyShard, AnySums], model: Model, report: ReportStatus | None) -> None:
        self._compute, self._report = work.open(model), report

    def results(self, shards: Iterable[AnyShard]) -> Iterator[ShardResult[AnySums]]:
        """The sums of each shard, in their order."""
        documents = tokens = 0
        for shard in shards:
            result = self._compute(shard)
            documents, tokens = documents + shard.n_documents, tokens + result.tokens
            yield result
            if self._report is not None:
                self._report(Status(documents, tokens, None))


def engine_facts(engine: Engine, schedule: Schedule[Any, Any], largest_shard: int) -> EngineFacts:
    """What a run records of the workers that computed it."""
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


# ---- An engine from its name


def as_engine(given: Engine | str | None) -> Engine | None:
    """The engine that is given, or the one of this name; None: the local one, which computes in this process."""
    if given is None or given == "local":
        return None
    if isinstance(given, Engine):
        return given
    if given == Processes.name:
        return Processes()
    if given == Ray.name:
        return Ray()
    raise EyelineError(f"An engine {given!r}.", nearest(str(given), get_args(EngineName)))


def check_engine(given: Engine | str | None) -> None:
    """Refuse an engine that cannot work, before anything is computed or written."""
    engine = as_engine(given)
    if engine is not None:
        engine.check()
