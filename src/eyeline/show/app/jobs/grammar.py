"""What the Grammar page computes: tables 1, 2 and 3 in the background, into one run."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eyeline.errors import EyelineError, TextError
from eyeline.kinds import named
from eyeline.measure.coreference.options import CoreferenceOptions
from eyeline.measure.grammar.options import SyntaxOptions
from eyeline.measure.probes.options import ProbeOptions
from eyeline.measure.runs.options import Options, given_options
from eyeline.measure.runs.progress import Progress, ReportProgress
from eyeline.measure.runs.run import Run
from eyeline.messages import Message
from eyeline.show.app.jobs.job import Job, save_run
from eyeline.show.app.kit.models import opened_model
from eyeline.show.app.kit.texts import as_file

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.coreference import MarkedCorpus
    from eyeline.text.corpora.treebank import Treebank

#: Tables 1, 2 and 3 of Clark et al.
ANALYSES = ("syntax", "coreference", "probe")
#: Steps of the progress bar.
OF = 1000


@dataclass(frozen=True)
class GrammarFile:
    """What was read for the chosen analyses. left_out: the analyses that this file does not allow, and why."""

    treebank: Treebank | None = None
    marked: MarkedCorpus | None = None
    left_out: Mapping[str, Message] = field(default_factory=dict)


@dataclass(frozen=True)
class GrammarRequest:
    """analyses: of ANALYSES. syntax, coreference, probe: the options of each."""

    analyses: tuple[str, ...]
    syntax: SyntaxOptions
    coreference: CoreferenceOptions
    probe: ProbeOptions

    def options(self, analysis: str) -> Options:
        return getattr(self, analysis)  # type: ignore[no-any-return]


def request_of(analyses: tuple[str, ...], syntax: SyntaxOptions) -> GrammarRequest:
    """A request whose analyses read as many sentences, or documents, as table 1; the probes are trained once, on half as many."""
    limit = syntax.limit
    probe = ProbeOptions(limit=None if limit is None else max(1, limit // 2), seeds=1)
    return GrammarRequest(analyses, syntax, CoreferenceOptions(limit=limit), probe)


def read_gold(name: str, data: bytes, analyses: tuple[str, ...]) -> GrammarFile:
    """Read a file as a treebank, as marked mentions, or both. Where it allows none of the analyses, raise an error that says why."""
    from eyeline.text.corpora.coreference import read_coreference
    from eyeline.text.corpora.treebank import read_treebank

    treebank: Treebank | None = None
    marked: MarkedCorpus | None = None
    left_out: dict[str, Message] = {}
    with as_file(name, data) as path:
        for analysis in analyses:
            try:
                if analysis == "coreference":
                    marked = _renamed(read_coreference(path), str(path), name)
                elif treebank is None:
                    treebank = read_treebank(path)
            except TextError as error:
                left_out[analysis] = error.for_app.replacing(str(path), name)
    if len(left_out) == len(analyses):
        raise TextError(*dict.fromkeys(left_out.values()))
    return GrammarFile(treebank, marked, left_out)


def _renamed(marked: MarkedCorpus, path: str, name: str) -> MarkedCorpus:
    """Documents without a name have the name of their file: the visitor's name for it, not that of our temporary copy."""
    documents = tuple(replace(document, id=document.id.replace(path, name)) for document in marked.documents)
    return replace(marked, documents=documents, first={kind: text.replacing(path, name) for kind, text in marked.first.items()})


@dataclass(frozen=True)
class GrammarWork:
    """The work of a job: every analysis that can be made; one that fails is left out, and named in the run."""

    model: Model | str
    gold: GrammarFile
    request: GrammarRequest

    def __call__(self, job: Job) -> None:
        model, gold, request = opened_model(self.model), self.gold, self.request
        left_out, runs = dict(gold.left_out), []
        chosen = [name for name in request.analyses if name not in left_out]
        for index, name in enumerate(chosen):

            def report(progress: Progress, name: str = name, index: int = index) -> None:
                job.report_progress(Progress(name, int(OF * (index + progress.share) / len(chosen)), OF))

            report(Progress(name, 0, 1))
            try:
                runs.append(_measure(name, model, gold, request.options(name), report))
            except EyelineError as error:
                left_out[name] = error.for_app
        if not runs:
            raise TextError(*left_out.values())
        if left_out:
            runs[0] = runs[0].with_facts(left_out=left_out)
        job.report_progress(Progress("saving", OF, OF))
        save_run(job, runs[0].join(*runs[1:]).save)


#: Where each analysis is.
FUNCTIONS = {
    "syntax": "eyeline.measure.grammar.run:syntax",
    "coreference": "eyeline.measure.coreference.run:coreference",
    "probe": "eyeline.measure.probes.run:probe",
}


def _measure(name: str, model: Model, gold: GrammarFile, options: Options, progress: ReportProgress) -> Run:
    """One analysis, of the part of the file that was read for it."""
    read = gold.marked if name == "coreference" else gold.treebank
    return named(FUNCTIONS[name])(model, read, **given_options(options), progress=progress)  # type: ignore[no-any-return]
