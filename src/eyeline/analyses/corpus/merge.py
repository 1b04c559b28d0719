"""Runs over the parts of a corpus, merged into the run over all of it: for example from several machines, or from several days."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from eyeline.analyses.corpus.state import check_same, load_state
from eyeline.analyses.corpus.statistic import Statistic
from eyeline.analyses.corpus.statistics.catalogue import statistic_with
from eyeline.analyses.corpus.summary import notices, summarise
from eyeline.errors import Advice, StorageError, TraceError
from eyeline.results.facts import AnalyseOptions, CorpusFacts
from eyeline.results.run import Run, open_parts
from eyeline.storage.names import as_path
from eyeline.storage.records import to_json


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
    corpora = [run.facts.corpus for run in runs]
    if len({corpus.sha256 for corpus in corpora}) < len(corpora):
        raise TraceError(f"The same corpus twice: {', '.join(corpus.name for corpus in corpora)}.", "Its texts would count twice.")
    whole = [statistic.fresh() for statistic in statistics[0]]
    for part in statistics:
        for statistic, other in zip(whole, part, strict=True):
            statistic.merge(other)
    counts = sum((Counter(run.facts.counts) for run in runs), Counter[str]())
    tables, stress = summarise(whole, runs[0].facts.options_as(AnalyseOptions).seed)
    facts = replace(
        runs[0].facts,
        corpus=_together(corpora),
        counts=dict(counts),
        notices=(*_of_the_model(runs[0], statistics[0]), *notices(counts, whole)),
        stress=stress,
        streamed=all(run.facts.streamed for run in runs),
        seconds={"all": round(sum(run.facts.total_seconds for run in runs), 3)},
    )
    return Run(facts, tables, next((run.example for run in runs if run.example is not None), None))


def _of_the_model(run: Run, statistics: Sequence[Statistic]) -> list[str]:
    """The notices of a run that are not about its texts."""
    of_the_texts = notices(Counter(run.facts.counts), statistics)
    return [notice for notice in run.facts.notices if notice not in of_the_texts]


def _open(folder: Path, own: Sequence[type[Statistic]]) -> tuple[Run, list[Statistic]]:
    """A finished run and its sums."""
    run = next((part for part in open_parts(folder) if part.facts.kind == "analyse"), None)
    if run is None:
        raise StorageError(f"{folder} holds no run of `eyeline analyse`.", "Give folders that it wrote.")
    saved = load_state(folder, [statistic_with(name, options, own) for name, options in (run.facts.statistics or {}).items()])
    if saved is None or not saved.position.complete:
        how = Advice("Sums are written by el.analyse(…, folder=…).", "Sums are written by eyeline analyse CORPUS -o FOLDER.")
        raise StorageError(f"{folder} holds no sums of a finished run.", how)
    check_same(folder, saved.facts, run.facts)
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
