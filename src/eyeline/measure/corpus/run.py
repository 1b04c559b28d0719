"""A corpus through a model into statistics (`analyse`), and runs over the parts of a corpus as one run (`merge_runs`)."""

from __future__ import annotations

import hashlib
import itertools
import json
import random
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

from eyeline.errors import Advice, EyelineError, ModelError, StorageError, TextError, TraceError
from eyeline.look.trace import Trace
from eyeline.measure.corpus.catalogue import statistic_with, statistics_named
from eyeline.measure.corpus.distances import head_map
from eyeline.measure.corpus.effects import rank_agreement
from eyeline.measure.engines.local import as_engine, check_engine
from eyeline.measure.engines.processes import Engine
from eyeline.measure.runs.facts import CorpusFacts
from eyeline.measure.runs.options import chosen
from eyeline.measure.runs.progress import ReportProgress
from eyeline.measure.runs.run import Run, open_parts
from eyeline.measure.runs.table import Table
from eyeline.measure.statistics.loop import Groups, Loop, LoopOfWorkers, Plan, Position, check_same, load_state, only_run, remove_state
from eyeline.measure.statistics.options import USUAL, AnalyseFacts, AnalyseOptions
from eyeline.measure.statistics.prepare import GROUP, Preparation, characters, corpus_facts, documents_of, provenance, unknown_tokens
from eyeline.measure.statistics.statistic import Statistic
from eyeline.messages import Message
from eyeline.models.layout import check_layers
from eyeline.models.load import as_model
from eyeline.models.model import Model
from eyeline.storage.files import as_path
from eyeline.storage.records import to_json
from eyeline.text.corpora.corpus import Corpus, Document, Item
from eyeline.text.corpora.pairs import PairTally
from eyeline.text.tokenized import TokenizedText


def analyse(
    model: Model | str | Path,
    corpus: Corpus | Sequence[Item],
    statistics: Sequence[Statistic] | None = None,
    *,
    # from AnalyseOptions, as the docstring's lines on them: make generated
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
    """Measure statistics of a corpus, in fixed batches: an interrupted run gives the same numbers when it is resumed.

    model       an open model, or the name of one; workers open it again by its name
    corpus      what read_corpus opened, or a list of texts, pairs or word lists
    statistics  what to measure; without it everything that `eyeline analyse` measures
    limit       this many documents, chosen at random with the seed; with `pairs`, this many segments
    max_tokens  longer documents are skipped and counted; the model's own limit always holds
    pairs       build the paper's segments of two parts, of `max_tokens` tokens (128)
    window      cut longer documents into windows instead of skipping them
    layers      only these layers, counted from 0
    seed        for everything that is drawn at random
    folder      where the sums are kept while the run goes on; with `resume`, continue from there; with `overwrite`, start again
    engine      where: "local" (this process), "processes", "ray", or el.Ray(workers=8, …). The numbers do not depend on how many workers
                there are; those of the local engine are the same except for the order of additions (1e-9)
    progress    called after each batch, or shard, with a record of the step, how much of it is done, and the seconds
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
    options = chosen(AnalyseOptions, locals())
    wanted = options.layers if isinstance(options.layers, tuple) else None
    numbers = check_layers(model.layout, wanted)
    if wanted is not None:
        options = replace(options, layers=numbers)
    ready, left_out = _prepared(model, statistics, seed)
    facts = replace(
        provenance(AnalyseFacts, model, corpus_facts(corpus), options),
        statistics={statistic.name: statistic.options() for statistic in ready},
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
        plan = Plan(model, Preparation(model, max_tokens, window), numbers, facts, path, progress, total)
        loop = Loop(plan, ready, start) if chosen_engine is None else LoopOfWorkers(plan, ready, start, chosen_engine)
        statistics_run = loop.run(documents)
        if tally.documents:
            loop.counts["no_pair"], loop.counts["paired_documents"] = tally.without, tally.documents
        finished = _finish(loop, statistics_run, left_out)
        about_answers = any(statistic.about_answers for statistic in ready)
        return Run(*finished, example=example_of(model, itertools.islice(corpus, GROUP), question_seed=seed if about_answers else None))


def _prepared(model: Model, statistics: Sequence[Statistic], seed: int) -> tuple[list[Statistic], dict[str, Message]]:
    """The statistics that this model can give, and why the others are left out; none left is an error."""
    ready: list[Statistic] = []
    left_out: dict[str, Message] = {}
    for statistic in statistics:
        fresh = statistic.fresh()
        try:
            fresh.prepare(model, seed)
            ready.append(fresh)
        except ModelError as error:
            left_out[statistic.name] = error.message
            last = error
    if not ready:
        raise last
    return ready, left_out


#: How many documents are tried to say what a run will cost.
TRIED = 16

#: What the passes themselves are called among the costs.
PASSES = "passes"


def seconds_per_document(
    model: Model,
    corpus: Corpus,
    statistics: Sequence[Statistic],
    options: AnalyseOptions,
) -> dict[str, float]:
    """What a document costs, by the first of them: the passes of the model, and what each statistic adds. Empty where none can be read.

    A statistic that this model cannot give is left out, as in the run.
    """
    pairs, max_tokens, seed = options.pairs, options.max_tokens, options.seed
    documents = documents_of(corpus, model, pairs=pairs, limit=TRIED if pairs else None, max_tokens=max_tokens, seed=seed)
    layers = check_layers(model.layout, None)
    groups = Groups(model, Preparation(model, max_tokens, options.window), layers, seed, None if model.gives.streamed else False)
    tried = list(itertools.islice(documents, TRIED))
    texts = groups.read(tried).texts
    if not texts:
        return {}

    def seconds(together: list[Statistic]) -> float:
        fresh = [statistic.fresh() for statistic in together]
        started = time.perf_counter()
        for number, indices in enumerate(groups.batches(texts, fresh)):
            groups.add_batch([texts[i] for i in indices], fresh, 0, number)
        return (time.perf_counter() - started) / len(tried)

    ready, _ = _prepared(model, statistics, seed)
    seconds([])  # the first passes are slower: of a process, and those in which layers are checked
    passes = seconds([])
    return {PASSES: passes} | {statistic.name: max(0.0, seconds([statistic]) - passes) for statistic in ready}


def _finish(loop: Loop, statistics: list[Statistic], left_out: dict[str, Message]) -> tuple[AnalyseFacts, dict[str, Table]]:
    if loop.facts.options.pairs and not loop.counts["documents"]:
        raise TextError(
            Message("refusal.no_pairs", corpus=loop.facts.corpus.name),
            Message("refusal.sentence_end"),
            Advice(
                "Leave out pairs=True to read the documents as they are.",
                "Leave out --pairs to read the documents as they are.",
                Message("refusal.advice.pairs_off"),
            ),
        )
    if not loop.counts["texts"]:
        raise TextError(
            Message("refusal.no_document", n=f"{loop.counts['documents']:,}", corpus=loop.facts.corpus.name),
            Message(
                "refusal.why_no_document",
                n=f"{loop.counts['too_long']:,}",
                most=str(loop.preparation.longest),
                unreadable=f"{loop.counts['unreadable']:,}",
            ),
            Advice(
                "Cut long documents into windows: window=True.",
                "Cut long documents into windows: --window.",
                Message("refusal.advice.shorter_paragraphs"),
            ),
        )
    loop.save((0, 0), complete=True)
    tables, stress = summarise(statistics, loop.facts.options.seed)
    facts = replace(
        loop.facts,
        counts=dict(loop.counts),
        dropped={"broke": {name: Message.of(why) for name, why in loop.broke.items()}} if loop.broke else {},
        notices=(*loop.facts.notices, *loop.groups.forms.notices(), *notices(loop.counts, statistics)),
        left_out=left_out,
        stress=stress,
        streamed=loop.streamed,
        seconds={"all": round(loop.seconds, 3)},
        engine=loop.engine_facts,
    )
    return facts, tables


# ---- Runs over the parts of a corpus, for example from several machines or from several days


def merge_runs(folders: Sequence[str | Path], own: Sequence[type[Statistic]] = ()) -> Run:
    """The run over the texts of all these runs: their sums are added, and the tables computed from the sums.

    folders   finished runs of `eyeline analyse`, of one model with the same options and analyses, each of another part of the corpus
    own       the classes of your own statistics, where the runs have some
    """
    if isinstance(folders, str | Path) or len(folders) < 2:
        raise TraceError(f"Runs to merge: {folders!r}.", "Give the folders of at least two.")
    runs, statistics = zip(*(_open(as_path(folder), own) for folder in folders), strict=True)
    for folder, run in zip(folders, runs, strict=True):
        _check_alike(as_path(folder), run, Path(folders[0]), runs[0])
    known = [run.facts.of_kind(AnalyseFacts) for run in runs]
    corpora = [facts.corpus for facts in known]
    if len({corpus.sha256 for corpus in corpora}) < len(corpora):
        raise TraceError(f"The same corpus twice: {', '.join(corpus.name for corpus in corpora)}.", "Its texts would count twice.")
    whole = [statistic.fresh() for statistic in statistics[0]]
    for part in statistics:
        for statistic, other in zip(whole, part, strict=True):
            statistic.merge(other)
    counts = sum((Counter(run.facts.counts) for run in runs), Counter[str]())
    tables, stress = summarise(whole, known[0].options.seed)
    facts = replace(
        known[0],
        corpus=_together(corpora),
        counts=dict(counts),
        notices=(*_of_the_model(runs[0], statistics[0]), *notices(counts, whole)),
        stress=stress,
        streamed=all(facts.streamed for facts in known),
        seconds={"all": round(sum(run.facts.total_seconds for run in runs), 3)},
    )
    return Run(facts, tables, next((run.example for run in runs if run.example is not None), None))


def _of_the_model(run: Run, statistics: Sequence[Statistic]) -> list[Message]:
    """The notices of a run that are not about its texts."""
    of_the_texts = notices(Counter(run.facts.counts), statistics)
    return [notice for notice in run.facts.notices if notice not in of_the_texts]


def _open(folder: Path, own: Sequence[type[Statistic]]) -> tuple[Run, list[Statistic]]:
    """A finished run and its sums."""
    run = next((part for part in open_parts(folder) if part.facts.kind == "analyse"), None)
    if run is None:
        raise StorageError(f"{folder} holds no run of `eyeline analyse`.", "Give folders that it wrote.")
    saved = load_state(
        folder, [statistic_with(name, options, own) for name, options in (run.facts.of_kind(AnalyseFacts).statistics or {}).items()]
    )
    if saved is None or not saved.position.complete:
        how = Advice("Sums are written by el.analyse(…, folder=…).", "Sums are written by eyeline analyse CORPUS -o FOLDER.")
        raise StorageError(f"{folder} holds no sums of a finished run.", how)
    check_same(folder, saved.facts, run.facts.of_kind(AnalyseFacts))
    return run, saved.statistics


def _check_alike(folder: Path, run: Run, other_folder: Path, other: Run) -> None:
    for name, plural in (("model", "models"), ("options", "options"), ("statistics", "statistics")):
        own, others = (json.dumps(to_json(getattr(each.facts, name)), sort_keys=True) for each in (run, other))
        if own != others:
            raise TraceError(
                f"{folder} and {other_folder} are runs of different {plural}.",
                f"{folder}: {own}",
                f"{other_folder}: {others}",
                "Merge runs of one model with the same options and analyses.",
            )


def _together(corpora: Sequence[CorpusFacts]) -> CorpusFacts:
    return CorpusFacts(
        name=" + ".join(corpus.name for corpus in corpora),
        sha256=hashlib.sha256(" ".join(corpus.sha256 for corpus in corpora).encode()).hexdigest(),
        documents=sum(corpus.documents or 0 for corpus in corpora),
        unit=" or ".join(dict.fromkeys(corpus.unit or "" for corpus in corpora)),
        parts=tuple(corpora),
    )


# ---- Tables and notices of a run


def summarise(statistics: Sequence[Statistic], seed: int) -> tuple[dict[str, Table], dict[str, float]]:
    """Tables by name, each statistic's own and those that need several statistics; and the stress of each head map."""
    tables: dict[str, Table] = {}
    stress: dict[str, float] = {}
    for statistic in statistics:
        tables |= statistic.result()
    for name in [name for name in tables if name.split("_")[0] == "distances" and len(tables[name])]:
        stack = name.removeprefix("distances").lstrip("_")
        layout = f"head_map_{stack}" if stack else "head_map"
        tables[layout], stress[layout] = head_map(tables[name], tables, seed, stack)
    if "causes" in tables and len(tables["causes"]):
        tables["causes_agreement"] = rank_agreement(tables)
    return tables, stress


def notices(counts: Counter[str], statistics: Sequence[Statistic]) -> list[Message]:
    """Notices of what is not in the numbers, besides whole documents."""
    messages = [
        Message("notice.wrong_length", n=f"{n:,}", texts=f"{counts['texts']:,}", analysis=statistic.name)
        for statistic in statistics
        if (n := statistic.n_left_out())
    ]
    if counts["no_pair"]:
        messages.append(Message("notice.no_pair", n=f"{counts['no_pair']:,}", documents=f"{counts['paired_documents']:,}"))
    if counts["unreadable_pieces"]:
        messages.append(Message("notice.unreadable_pieces", n=f"{counts['unreadable_pieces']:,}"))
    if counts["dropped"]:
        messages.append(Message("notice.dropped_tokens", n=f"{counts['dropped']:,}"))
    return [*messages, *unknown_tokens(counts)]


# ---- The text on which heads are shown


#: The most tokens of the example that head views show, and the characters at which a document is long enough for one.
EXAMPLE_TOKENS, EXAMPLE_CHARACTERS = 48, 80


def example_of(model: Model, documents: Iterable[Document], question_seed: int | None = None) -> Trace | None:
    """The trace of the first document that is long enough, or of its beginning; where all are short, of the longest.

    question_seed   for a run about the model's answers: one word, drawn with this seed, is masked for a masked language model
    """
    longest_first = sorted(documents, key=lambda document: -min(characters(document.item), EXAMPLE_CHARACTERS))
    for document in longest_first:
        beginning = document.item[: EXAMPLE_TOKENS * 16] if isinstance(document.item, str) else document.item
        for example in Preparation(model, EXAMPLE_TOKENS, window=True).read(Document(beginning, document.line))[:1]:
            texts = [*example.source.sources, *(example.target.sources if example.target is not None else ())]
            mask = getattr(model._tokenizer, "mask_token", None)
            if question_seed is not None and mask is not None and model.answers == "masked":
                texts[0] = with_question(example.source, mask, question_seed)
            item = texts[0] if len(texts) == 1 else (texts[0], texts[1])
            return model.traces([item], keep={"weights"}, truncate=True)[0]
    return None


def with_question(text: TokenizedText, mask: str, seed: int) -> str:
    """The first source of a text with the mask token for one of its words; unchanged where no word is a single token.

    >>> text = TokenizedText(("a", "cat"), (0, 1), ("a", "cat"), (0, 0), (False, False), (5, 6), ((0, 1), (2, 5)), ("a cat",))
    >>> with_question(text, "[MASK]", seed=1)
    '[MASK] cat'
    """
    source = text.sources[0]
    sizes = Counter(text.words)
    plain = [
        span
        for span, word, special, segment in zip(text.spans, text.words, text.special, text.segments, strict=False)
        if segment == 0 and not special and sizes[word] == 1 and source[slice(*span)].isalpha()
    ]
    if mask in source or not plain:
        return source
    start, end = random.Random(f"{seed} {source}").choice(plain)  # noqa: S311 - seeded, not a secret
    return source[:start] + mask + source[end:]
