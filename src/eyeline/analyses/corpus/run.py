"""A corpus through a model into statistics: in fixed batches, so that a run that was killed goes on to the same numbers."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from pathlib import Path

from eyeline.analyses.corpus.agreement import can_stream, is_rechecked, recheck
from eyeline.analyses.corpus.batch import Batch, roles_of
from eyeline.analyses.corpus.example import example_of
from eyeline.analyses.corpus.fold import fold
from eyeline.analyses.corpus.state import Position, check_same, load_state, only_run, remove_state, save_state
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.catalogue import statistics_named
from eyeline.analyses.corpus.statistics.usual import USUAL
from eyeline.analyses.corpus.summary import notices, summarise
from eyeline.analyses.prepare import Preparation, documents_of
from eyeline.analyses.progress import Progress, ReportProgress, StopRequestedError, interrupt_between_steps
from eyeline.analyses.provenance import corpus_facts, provenance
from eyeline.capture.collect import Sides
from eyeline.capture.selection import check_layers
from eyeline.errors import Advice, EyelineError, ModelError, StorageError, TextError
from eyeline.models.model import Model, check_model
from eyeline.models.tracing import BATCH_TOKENS
from eyeline.results.facts import AnalyseOptions, RunFacts
from eyeline.results.run import Run
from eyeline.results.table import Table
from eyeline.storage.names import as_path
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.corpora.pairs import PairTally

#: Documents are taken in groups of so many, and batched by length within a group.
GROUP = 256
#: Seconds between two writings of the sums.
SAVE_EVERY = 30.0


def analyse(
    model: Model,
    corpus: Corpus | Sequence[Item],
    statistics: Sequence[Statistic] | None = None,
    *,
    limit: int | None = None,
    max_tokens: int | None = None,
    pairs: bool = False,
    window: bool = False,
    layers: Iterable[int] | None = None,
    seed: int = 0,
    folder: str | Path | None = None,
    resume: bool = False,
    overwrite: bool = False,
    progress: ReportProgress | None = None,
) -> Run:
    """Fold a corpus into statistics.

    corpus      what read_corpus opened, or a list of texts, pairs or word lists
    statistics  what to measure; without it everything that `eyeline analyse` measures
    limit       so many documents, chosen at random with the seed; of pairs, so many segments
    max_tokens  longer documents are skipped and counted; the model's own limit always holds
    pairs       build the paper's segments of two parts, of `max_tokens` tokens (128)
    window      cut longer documents into windows instead of skipping them
    folder      where the sums are kept while the run goes on; with `resume`, go on from what is there; with `overwrite`, begin anew
    progress    called after each batch (`analyses.progress`)
    """
    check_model(model)
    corpus = Corpus.of(corpus)
    statistics = statistics_named(USUAL) if statistics is None else statistics
    if not statistics:
        raise TextError("No statistics to compute.", "Give some, such as [el.statistics.AverageAttention(), el.statistics.Entropy()].")
    if resume and overwrite:
        which = Advice("Give resume=True or overwrite=True.", "Give --resume or --overwrite.")
        raise EyelineError("A run is either continued or replaced.", which)
    chosen = check_layers(model.layout, layers)
    ready, left_out = _prepared(model, statistics, seed)
    options = AnalyseOptions(limit, max_tokens, pairs, window, None if layers is None else chosen, seed)
    facts = replace(
        provenance(model, corpus_facts(corpus), options), statistics={statistic.name: statistic.options() for statistic in ready}
    )
    path = None if folder is None else as_path(folder)
    with only_run(path) if path is not None else nullcontext():
        start = Position(done=(0, 0), counts={}, seconds=0.0, streamed=None if model.gives.streamed else False, complete=False)
        if path is not None:
            if overwrite:
                remove_state(path)
            saved = load_state(path, ready)
            if saved is not None and not resume:
                kind = "a finished" if saved.position.complete else "an unfinished"
                does = "Write its report anew" if saved.position.complete else "Go on with it"
                how = Advice(f"{does}: resume=True. Or begin anew: overwrite=True.", f"{does}: --resume. Or begin anew: --overwrite.")
                raise StorageError(f"{path} holds {kind} run.", how)
            if saved is not None:
                check_same(path, saved.facts, facts)
                ready, start = saved.statistics, saved.position
        tally = PairTally()
        documents = documents_of(corpus, model, tally=tally, pairs=pairs, limit=limit, max_tokens=max_tokens, seed=seed)
        known = [n for n in (limit, corpus.n_documents) if n is not None]
        total = limit if pairs else min(known) if known else None
        loop = _Loop(_Plan(model, Preparation(model, max_tokens, window), chosen, facts, path, progress, total), ready, start)
        statistics_run = loop.run(documents)
        if tally.documents:
            loop.counts["no_pair"], loop.counts["paired_documents"] = tally.without, tally.documents
        finished = _finish(loop, statistics_run, left_out)
        asks = any(statistic.about_answers for statistic in ready)
        return Run(*finished, example=example_of(model, itertools.islice(corpus, GROUP), question_seed=seed if asks else None))


@dataclass(frozen=True)
class _Plan:
    """What a run does, from its beginning to its end. total: of documents, where that is known."""

    model: Model
    preparation: Preparation
    layers: dict[str, tuple[int, ...]]
    facts: RunFacts
    folder: Path | None
    progress: ReportProgress | None
    total: int | None


class _Loop:
    """The state of a run between two batches."""

    def __init__(self, plan: _Plan, statistics: list[Statistic], start: Position) -> None:
        self.model, self.preparation, self.layers, self.facts = plan.model, plan.preparation, plan.layers, plan.facts
        self.folder, self.progress, self.total = plan.folder, plan.progress, plan.total
        self.statistics, self.start = statistics, start
        self.counts, self.seconds = Counter(start.counts), start.seconds  # of what has been folded
        self.roles = roles_of(plan.model.tokenizer) if plan.model.tokenizer is not None else {}
        self.streamed = start.streamed  # None: to be tried on the first batch

    def run(self, documents: Iterator[Document]) -> list[Statistic]:
        """Fold every batch after the position at which the run starts."""
        if self.start.complete:
            return self.statistics
        with interrupt_between_steps() if self.folder is not None else nullcontext(lambda: None) as interrupt:
            return self._run(documents, interrupt)

    def _run(self, documents: Iterator[Document], interrupt: Callable[[], None]) -> list[Statistic]:
        done = self.start.done
        started, saved = time.monotonic() - self.seconds, time.monotonic()
        for number in itertools.count():
            group = list(itertools.islice(documents, GROUP))
            if not group:
                break
            if number < done[0]:
                continue
            self.preparation.counts = Counter()
            texts = self.preparation.read_many(group)
            if number > done[0] or not done[1]:  # else the group was counted before the run was interrupted
                self.counts += self.preparation.counts
            cut = self.model.in_batches(texts, self._batch_tokens())
            for index, indices in enumerate(cut):
                if number == done[0] and index < done[1]:
                    continue
                self._fold([texts[i] for i in indices], again=is_rechecked(self.facts.options_as(AnalyseOptions).seed, number, index))
                self.seconds = time.monotonic() - started
                if self.folder is not None and time.monotonic() - saved > SAVE_EVERY:
                    self.save((number, index + 1))
                    saved = time.monotonic()
                try:
                    interrupt()
                    self._report(number, len(group), (index + 1) / len(cut))
                except (StopRequestedError, KeyboardInterrupt):
                    self.save((number, index + 1))  # a batch is folded whole, so that --resume can go on from here
                    raise
        return self.statistics

    def _report(self, number: int, documents: int, share: float) -> None:
        """So much of the documents of this group is done."""
        if self.progress is not None:
            tokens = self.counts["tokens"] - int(self.preparation.counts["tokens"] * (1 - share))
            self.progress(Progress("documents", number * GROUP + int(documents * share), self.total, tokens, self.seconds))

    def _batch_tokens(self) -> int:
        return min([BATCH_TOKENS, *(limit for statistic in self.statistics if (limit := statistic.batch_tokens(self.model)) is not None)])

    def _fold(self, sides: Sequence[Sides], *, again: bool) -> None:
        batch = Batch(tuple(sides), self.roles, self.model.hf.device, self.layers)
        from_rows = [statistic for statistic in self.statistics if statistic.from_rows]
        if self.streamed is None:
            self.streamed = can_stream(self.model, batch, from_rows, self.layers)
        elif self.streamed and again:
            recheck(self.model, batch, from_rows, self.layers)
        fold(self.model, batch, self.statistics, self.layers, streamed=self.streamed)

    def save(self, done: tuple[int, int], *, complete: bool = False) -> None:
        if self.folder is not None:
            position = Position(done, dict(self.counts), self.seconds, self.streamed, complete)
            save_state(self.folder, self.statistics, self.facts, position)


def _prepared(model: Model, statistics: Sequence[Statistic], seed: int) -> tuple[list[Statistic], dict[str, str]]:
    """The statistics that this model can give, and why the others are left out; none left is an error."""
    ready: list[Statistic] = []
    left_out: dict[str, str] = {}
    for statistic in statistics:
        fresh = statistic.fresh()
        try:
            fresh.prepare(model, seed)
            ready.append(fresh)
        except ModelError as error:
            left_out[statistic.name] = str(error)
            last = error
    if not ready:
        raise last
    return ready, left_out


def _finish(loop: _Loop, statistics: list[Statistic], left_out: dict[str, str]) -> tuple[RunFacts, dict[str, Table]]:
    if loop.facts.options_as(AnalyseOptions).pairs and not loop.counts["documents"]:
        raise TextError(
            f"No document of {loop.facts.corpus.name} has two sentences, so there are no pairs to build.",
            "A sentence ends with . ! ? … and white space, or with 。！？.",
            Advice("Leave out pairs=True to read the documents as they are.", "Leave out --pairs to read the documents as they are."),
        )
    if not loop.counts["texts"]:
        raise TextError(
            f"None of the {loop.counts['documents']:,} documents of {loop.facts.corpus.name} could be used.",
            f"{loop.counts['too_long']:,} are longer than {loop.preparation.longest} tokens, {loop.counts['unreadable']:,} cannot be read.",
            Advice("Cut long documents into windows: window=True.", "Cut long documents into windows: --window."),
        )
    loop.save((0, 0), complete=True)
    tables, stress = summarise(statistics, loop.facts.options_as(AnalyseOptions).seed)
    facts = replace(
        loop.facts,
        counts=dict(loop.counts),
        notices=(*loop.facts.notices, *notices(loop.counts, statistics)),
        left_out=left_out,
        stress=stress,
        streamed=loop.streamed,
        seconds={"all": round(loop.seconds, 3)},
    )
    return facts, tables
