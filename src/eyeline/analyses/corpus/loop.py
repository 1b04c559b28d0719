"""The loop over the groups of a corpus: folded in this process, or by the workers of an engine."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from eyeline.analyses.corpus.batch import GROUP, BatchSize
from eyeline.analyses.corpus.shards import CorpusWork, DocumentShard, Groups, ReadGroup, ShardSums
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

#: Seconds after which the sums are written again.
SAVE_EVERY = 30.0


@dataclass(frozen=True)
class Plan:
    """What does not change during a run. total: how many documents there are, where that is known."""

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
        size = BatchSize.of(plan.model) if start.done == (0, 0) else BatchSize.of_run(start.texts, start.tokens)
        self.groups = Groups(plan.model, plan.preparation, plan.layers, seed, start.streamed, size)
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
            for statistic in self.statistics:
                statistic.settle()
            self.seconds = time.monotonic() - self._started
        return self.statistics

    def _run(self, groups: Iterator[tuple[int, list[Document]]], interrupt: Callable[[], None]) -> None:
        for number, group, read in self._read_ahead(groups):
            self._fold(number, group, read, interrupt)

    def _read_ahead(self, groups: Iterator[tuple[int, list[Document]]]) -> Iterator[tuple[int, list[Document], ReadGroup]]:
        """Each group with its texts. While a GPU works on one group, a thread reads the next; processors have no time to spare."""
        if self.model.hf.device.type != "cuda":
            yield from ((number, group, self.groups.read(group)) for number, group in groups)
            return
        with ThreadPoolExecutor(1) as thread:
            ahead: Future[ReadGroup] | None = None
            current: tuple[int, list[Document]] | None = None
            for number, group in groups:
                following = thread.submit(self.groups.read, group)
                if ahead is not None and current is not None:
                    yield *current, ahead.result()
                ahead, current = following, (number, group)
            if ahead is not None and current is not None:
                yield *current, ahead.result()

    def _not_done(self, documents: Iterator[Document]) -> Iterator[tuple[int, list[Document]]]:
        """The groups that are not done yet, each with its index; several at once where a batch holds the texts of several."""
        number = self.start.done[0]
        for _ in itertools.islice(documents, number * GROUP):  # these are done
            pass
        while group := list(itertools.islice(documents, self._together(number) * GROUP)):
            yield number, group
            number += self._together(number)

    def _together(self, number: int) -> int:
        """How many groups are folded together from this one on."""
        return self.groups.size.groups

    def _fold(self, number: int, group: list[Document], read: ReadGroup, interrupt: Callable[[], None]) -> None:
        """Fold the batches of a group that are not done yet."""
        done = self.start.done[1] if number == self.start.done[0] else 0
        texts = read.texts
        if not done:  # else the group was counted before the run was interrupted
            self.counts += read.counts
        cut = self.groups.batches(texts, self.statistics)
        for index, indices in enumerate(cut):
            if index < done:
                continue
            self.groups.fold([texts[i] for i in indices], self.statistics, number, index)
            self._keep((number, index + 1))
            try:
                interrupt()
                self._report(number, len(group), read.counts["tokens"], (index + 1) / len(cut))
            except (StopRequestedError, KeyboardInterrupt):
                self.save((number, index + 1))  # a batch is folded whole, so that --resume can go on from here
                raise

    def _keep(self, done: tuple[int, int]) -> None:
        """Update the seconds, and write the sums every SAVE_EVERY seconds."""
        self.seconds = time.monotonic() - self._started
        if self.folder is not None and time.monotonic() - self._saved > SAVE_EVERY:
            self.save(done)
            self._saved = time.monotonic()

    def _report(self, number: int, documents: int, tokens_read: int, share: float) -> None:
        """Report that this share of the documents of a group is done."""
        if self.progress is not None:
            tokens = self.counts["tokens"] - int(tokens_read * (1 - share))
            self.progress(Progress("documents", number * GROUP + int(documents * share), self.total, tokens, self.seconds))

    def save(self, done: tuple[int, int], *, complete: bool = False) -> None:
        if self.folder is not None:
            size = self.groups.size
            position = Position(
                done, dict(self.counts), self.seconds, self.streamed, complete, self.broke, self.retries, size.texts, size.tokens
            )
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
                self._fold(number, group, self.groups.read(group), interrupt)
                self._merged = number + self._together(number)
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

    def _together(self, number: int) -> int:
        """A shard is one group; a local run may have left several half-way."""
        half_way = number == self.start.done[0] and self.start.done[1] > 0
        return self.groups.size.groups if half_way else 1

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
            self._add(outcome)
            self._merged += 1
            self.retries = retries + schedule.retries
            self._keep((self._merged, 0))

    def _add(self, outcome: ShardOutcome[ShardSums]) -> None:
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
