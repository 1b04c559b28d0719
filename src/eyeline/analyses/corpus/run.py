"""A corpus through a model into statistics: in fixed batches, so that an interrupted run gives the same numbers when it is resumed."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from eyeline.analyses.corpus.batch import GROUP
from eyeline.analyses.corpus.example import example_of
from eyeline.analyses.corpus.loop import Loop, LoopOfWorkers, Plan
from eyeline.analyses.corpus.state import Position, check_same, load_state, only_run, remove_state
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.catalogue import statistics_named
from eyeline.analyses.corpus.statistics.usual import USUAL
from eyeline.analyses.corpus.summary import notices, summarise
from eyeline.analyses.engines.choose import as_engine, check_engine
from eyeline.analyses.engines.engine import Engine
from eyeline.analyses.prepare import Preparation, documents_of
from eyeline.analyses.progress import ReportProgress
from eyeline.analyses.provenance import corpus_facts, provenance
from eyeline.capture.selection import check_layers
from eyeline.errors import Advice, EyelineError, ModelError, StorageError, TextError
from eyeline.models.load import as_model
from eyeline.models.model import Model
from eyeline.results.facts import AnalyseOptions, RunFacts
from eyeline.results.run import Run
from eyeline.results.table import Table
from eyeline.storage.names import as_path
from eyeline.text.corpora.corpus import Corpus, Item
from eyeline.text.corpora.pairs import PairTally


def analyse(
    model: Model | str | Path,
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
    engine: Engine | str = "local",
    progress: ReportProgress | None = None,
) -> Run:
    """Fold a corpus into statistics.

    model       an open model, or the name of one; workers open it again by its name
    corpus      what read_corpus opened, or a list of texts, pairs or word lists
    statistics  what to measure; without it everything that `eyeline analyse` measures
    limit       this many documents, chosen at random with the seed; with `pairs`, this many segments
    max_tokens  longer documents are skipped and counted; the model's own limit always holds
    pairs       build the paper's segments of two parts, of `max_tokens` tokens (128)
    window      cut longer documents into windows instead of skipping them
    folder      where the sums are kept while the run goes on; with `resume`, continue from there; with `overwrite`, start again
    engine      where: "local" (this process), "processes", "ray", or el.Ray(workers=8, …). The numbers do not depend on how many workers
                there are; those of the local engine are the same except for the order of additions (1e-9)
    progress    called after each batch, or shard (`analyses.progress`)
    """
    check_engine(engine)
    chosen_engine = as_engine(engine)
    model = as_model(model)
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
        plan = Plan(model, Preparation(model, max_tokens, window), chosen, facts, path, progress, total)
        loop = Loop(plan, ready, start) if chosen_engine is None else LoopOfWorkers(plan, ready, start, chosen_engine)
        statistics_run = loop.run(documents)
        if tally.documents:
            loop.counts["no_pair"], loop.counts["paired_documents"] = tally.without, tally.documents
        finished = _finish(loop, statistics_run, left_out)
        about_answers = any(statistic.about_answers for statistic in ready)
        return Run(*finished, example=example_of(model, itertools.islice(corpus, GROUP), question_seed=seed if about_answers else None))


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


def _finish(loop: Loop, statistics: list[Statistic], left_out: dict[str, str]) -> tuple[RunFacts, dict[str, Table]]:
    if loop.facts.options_as(AnalyseOptions).pairs and not loop.counts["documents"]:
        raise TextError(
            f"No document of {loop.facts.corpus.name} has two sentences, so there are no pairs to build.",
            "A sentence ends with . ! ? … and white space, or with 。！？.",
            Advice(
                "Leave out pairs=True to read the documents as they are.",
                "Leave out --pairs to read the documents as they are.",
                "Switch pairs off to read the paragraphs as they are.",
            ),
        )
    if not loop.counts["texts"]:
        raise TextError(
            f"None of the {loop.counts['documents']:,} documents of {loop.facts.corpus.name} could be used.",
            f"{loop.counts['too_long']:,} are longer than {loop.preparation.longest} tokens, {loop.counts['unreadable']:,} cannot be read.",
            Advice(
                "Cut long documents into windows: window=True.", "Cut long documents into windows: --window.", "Take shorter paragraphs."
            ),
        )
    loop.save((0, 0), complete=True)
    tables, stress = summarise(statistics, loop.facts.options_as(AnalyseOptions).seed)
    facts = replace(
        loop.facts,
        counts=dict(loop.counts),
        dropped={"broke": loop.broke} if loop.broke else {},
        notices=(*loop.facts.notices, *notices(loop.counts, statistics)),
        left_out=left_out,
        stress=stress,
        streamed=loop.streamed,
        seconds={"all": round(loop.seconds, 3)},
        engine=loop.engine_facts,
    )
    return facts, tables
