"""The loop over the groups of a corpus: folded in this process, or by the workers of an engine."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from eyeline.analyses.corpus.shards import GROUP, CorpusWork, DocumentShard, Groups, ShardSums
from eyeline.analyses.corpus.state import Position, save_state
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.engines.fold import engine_facts
from eyeline.analyses.engines.schedule import Schedule
from eyeline.analyses.engines.work import ShardOutcome, Status
from eyeline.analyses.prepare import Preparation
from eyeline.analyses.progress import Progress, ReportProgress, StopRequestedError, interrupt_between_steps
from eyeline.models.model import Model
from eyeline.results.facts import AnalyseOptions, EngineFacts, RunFacts
from eyeline.text.corpora.corpus import Document

#: Seconds between two writings of the sums.
SAVE_EVERY = 30.0


@dataclass(frozen=True)
class Plan:
    """What a run does, from its beginning to its end. total: of documents, where that is known."""

    model: Model
    preparation: Preparation
    layers: dict[str, tuple[int, ...]]
    facts: RunFacts
    folder: Path | None
    progress: ReportProgress | None
    total: int | None


class Loop:
    """The state of a run between two batches, which are folded in this process.

    broke     document → why it is not in the numbers: it broke the worker that read it, twice
    retries   shards and documents that were folded again
    """

    engine_facts: EngineFacts | None = None

    def __init__(self, plan: Plan, statistics: list[Statistic], start: Position) -> None:
        self.model, self.preparation, self.layers, self.facts = plan.model, plan.preparation, plan.layers, plan.facts
        self.folder, self.progress, self.total = plan.folder, plan.progress, plan.total
        self.statistics, self.start = statistics, start
        self.counts, self.seconds = Counter(start.counts), start.seconds  # of what has been folded
        self.broke, self.retries = dict(start.broke), start.retries
        seed = plan.facts.options_as(AnalyseOptions).seed
        self.groups = Groups(plan.model, plan.preparation, plan.layers, seed, start.streamed)
        self._started, self._saved = time.monotonic() - self.seconds, time.monotonic()

    @property
    def streamed(self) -> bool | None:
        """Whether maps are never formed; None: to be tried on the first batch."""
        return self.groups.streamed

    def run(self, documents: Iterator[Document]) -> list[Statistic]:
        """Fold every batch after the position at which the run starts."""
        if not self.start.complete:
            with interrupt_between_steps() if self.folder is not None else nullcontext(lambda: None) as interrupt:
                self._run(self._not_done(documents), interrupt)
        return self.statistics

    def _run(self, groups: Iterator[tuple[int, list[Document]]], interrupt: Callable[[], None]) -> None:
        for number, group in groups:
            self._fold(number, group, interrupt)

    def _not_done(self, documents: Iterator[Document]) -> Iterator[tuple[int, list[Document]]]:
        """The groups that are not done yet, each with its index."""
        for number in itertools.count():
            group = list(itertools.islice(documents, GROUP))
            if not group:
                return
            if number >= self.start.done[0]:
                yield number, group

    def _fold(self, number: int, group: list[Document], interrupt: Callable[[], None]) -> None:
        """Fold the batches of a group that are not done yet."""
        done = self.start.done[1] if number == self.start.done[0] else 0
        texts = self.groups.read(group)
        if not done:  # else the group was counted before the run was interrupted
            self.counts += self.groups.counts
        cut = self.groups.batches(texts, self.statistics)
        for index, indices in enumerate(cut):
            if index < done:
                continue
            self.groups.fold([texts[i] for i in indices], self.statistics, number, index)
            self._keep((number, index + 1))
            try:
                interrupt()
                self._report(number, len(group), (index + 1) / len(cut))
            except (StopRequestedError, KeyboardInterrupt):
                self.save((number, index + 1))  # a batch is folded whole, so that --resume can go on from here
                raise

    def _keep(self, done: tuple[int, int]) -> None:
        """Take the time, and write the sums now and then."""
        self.seconds = time.monotonic() - self._started
        if self.folder is not None and time.monotonic() - self._saved > SAVE_EVERY:
            self.save(done)
            self._saved = time.monotonic()

    def _report(self, number: int, documents: int, share: float) -> None:
        """So much of the documents of this group is done."""
        if self.progress is not None:
            tokens = self.counts["tokens"] - int(self.preparation.counts["tokens"] * (1 - share))
            self.progress(Progress("documents", number * GROUP + int(documents * share), self.total, tokens, self.seconds))

    def save(self, done: tuple[int, int], *, complete: bool = False) -> None:
        if self.folder is not None:
            position = Position(done, dict(self.counts), self.seconds, self.streamed, complete, self.broke, self.retries)
            save_state(self.folder, self.statistics, self.facts, position)


class LoopOfWorkers(Loop):
    """The state of a run whose groups are folded by workers, as shards: their sums are merged in the order of the groups, each once."""

    def __init__(self, plan: Plan, statistics: list[Statistic], start: Position, engine: Engine) -> None:
        super().__init__(plan, statistics, start)
        options = plan.facts.options_as(AnalyseOptions)
        self.engine, self._merged = engine, start.done[0]
        self.work = CorpusWork(
            statistics=tuple((type(statistic), statistic.options()) for statistic in statistics),
            layers=plan.layers,
            max_tokens=options.max_tokens,
            window=options.window,
            seed=options.seed,
        )

    def _run(self, groups: Iterator[tuple[int, list[Document]]], interrupt: Callable[[], None]) -> None:
        if self.start.done[1]:  # a group that a local run left half-way is finished in this process
            for number, group in itertools.islice(groups, 1):
                self._fold(number, group, interrupt)
                self._merged = number + 1
        before = Counter(self.counts)

        def report(status: Status) -> None:
            interrupt()
            if self.progress is not None:
                done, tokens = before["documents"] + status.documents, before["tokens"] + status.tokens
                self.progress(Progress("documents", done, self.total, tokens, time.monotonic() - self._started, workers=status.alive))

        with self.engine.session(self.work, self.model, report) as schedule:
            try:
                self._merge_all(schedule, groups)
            except (StopRequestedError, KeyboardInterrupt):
                self.save((self._merged, 0))
                raise
            self.engine_facts = replace(engine_facts(self.engine, schedule, GROUP), shards=self._merged, retries=self.retries)

    def _merge_all(self, schedule: Schedule[DocumentShard, ShardSums], groups: Iterator[tuple[int, list[Document]]]) -> None:
        """Until it is known whether maps are formed, one shard at a time; the workers open the model meanwhile."""
        while self.streamed is None:
            following = next(groups, None)
            if following is None:
                return
            self._merge(schedule, [following])
        self._merge(schedule, groups)

    def _merge(self, schedule: Schedule[DocumentShard, ShardSums], groups: Iterable[tuple[int, list[Document]]]) -> None:
        shards = (DocumentShard(number, tuple(group), self.streamed) for number, group in groups)
        retries = self.retries - schedule.retries
        for outcome in schedule.results(shards):
            self._take(outcome)
            self._merged += 1
            self.retries = retries + schedule.retries
            self._keep((self._merged, 0))

    def _take(self, outcome: ShardOutcome[ShardSums]) -> None:
        """Add the sums of a shard."""
        if outcome.sums is not None:
            for statistic, state in zip(self.statistics, outcome.sums.states, strict=True):
                statistic.merge(statistic.from_state(state))
            self.groups.streamed = outcome.sums.streamed
            self.counts += Counter(outcome.sums.counts)
        if outcome.skipped:
            self.broke |= outcome.skipped
            self.counts["documents"] += len(outcome.skipped)
            self.counts["broke"] += len(outcome.skipped)
