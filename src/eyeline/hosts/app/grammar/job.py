"""What the Grammar page computes: tables 1, 2 and 3 in the background, into one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eyeline.analyses.progress import Progress, ReportProgress
from eyeline.errors import EyelineError, TextError
from eyeline.hosts.app.jobs.job import Job
from eyeline.hosts.app.jobs.saving import save_run
from eyeline.hosts.app.models import opened_model
from eyeline.hosts.app.texts.uploads import as_file
from eyeline.results.run import Run

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.coreference.read import MarkedCorpus
    from eyeline.text.treebank.treebank import Treebank

#: Tables 1, 2 and 3 of Clark et al.
ANALYSES = ("syntax", "coreference", "probe")
#: Steps of the progress bar.
OF = 1000


@dataclass(frozen=True)
class GrammarFile:
    """What was read for the chosen analyses. left_out: the analyses that this file does not allow, and why."""

    treebank: Treebank | None = None
    marked: MarkedCorpus | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class GrammarOptions:
    """analyses: of ANALYSES. limit: sentences (documents, for coreference) at most. labels, min_count: of table 1. seeds: of table 3."""

    analyses: tuple[str, ...]
    limit: int
    min_count: int = 20
    labels: str = "ud"
    seeds: int = 1


def read_gold(name: str, data: bytes, analyses: tuple[str, ...]) -> GrammarFile:
    """Read a file as a treebank, as marked mentions, or both. Where it allows none of the analyses, raise an error that says why."""
    from eyeline.text.coreference.read import read_coreference
    from eyeline.text.treebank.read import read_treebank

    treebank: Treebank | None = None
    marked: MarkedCorpus | None = None
    left_out: dict[str, str] = {}
    with as_file(name, data) as path:
        for analysis in analyses:
            try:
                if analysis == "coreference":
                    marked = _renamed(read_coreference(path), str(path), name)
                elif treebank is None:
                    treebank = read_treebank(path)
            except TextError as error:
                left_out[analysis] = error.for_app.replace(str(path), name)
    if len(left_out) == len(analyses):
        raise TextError("\n".join(dict.fromkeys(left_out.values())))
    return GrammarFile(treebank, marked, left_out)


def _renamed(marked: MarkedCorpus, path: str, name: str) -> MarkedCorpus:
    """Documents without a name have the name of their file: the visitor's name for it, not that of our temporary copy."""
    documents = tuple(replace(document, id=document.id.replace(path, name)) for document in marked.documents)
    return replace(marked, documents=documents, first={kind: text.replace(path, name) for kind, text in marked.first.items()})


@dataclass(frozen=True)
class GrammarWork:
    """The work of a job: every analysis that can be made; one that fails is left out, and named in the run."""

    model: Model | str
    gold: GrammarFile
    options: GrammarOptions

    def __call__(self, job: Job) -> None:
        model, gold, options = opened_model(self.model), self.gold, self.options
        left_out, runs = dict(gold.left_out), []
        chosen = [name for name in options.analyses if name not in left_out]
        for index, name in enumerate(chosen):

            def report(progress: Progress, name: str = name, index: int = index) -> None:
                job.report_progress(Progress(name, int(OF * (index + progress.share) / len(chosen)), OF))

            report(Progress(name, 0, 1))
            try:
                runs.append(WORK[name](model, gold, options, report))
            except EyelineError as error:
                left_out[name] = error.for_app
        if not runs:
            raise TextError("\n".join(left_out.values()))
        if left_out:
            runs[0] = runs[0].with_facts(left_out=left_out)
        job.report_progress(Progress("saving", OF, OF))
        save_run(job, runs[0].join(*runs[1:]).save)


def _syntax(model: Model, gold: GrammarFile, options: GrammarOptions, progress: ReportProgress) -> Run:
    from eyeline.analyses.grammar.run import syntax

    assert gold.treebank is not None  # noqa: S101 - read for this
    return syntax(
        model, gold.treebank, labels=options.labels, min_count=options.min_count, limit=options.limit, progress=progress,
    )  # fmt: skip


def _coreference(model: Model, gold: GrammarFile, options: GrammarOptions, progress: ReportProgress) -> Run:
    from eyeline.analyses.coreference.run import coreference

    assert gold.marked is not None  # noqa: S101 - read for this
    return coreference(model, gold.marked, limit=options.limit, progress=progress)


def _probe(model: Model, gold: GrammarFile, options: GrammarOptions, progress: ReportProgress) -> Run:
    from eyeline.analyses.probes.run import probe

    assert gold.treebank is not None  # noqa: S101 - read for this
    return probe(model, gold.treebank, limit=max(1, options.limit // 2), seeds=options.seeds, progress=progress)


WORK: dict[str, Callable[..., Run]] = {"syntax": _syntax, "coreference": _coreference, "probe": _probe}
