"""What the Corpus page computes, in the background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eyeline.analyses.corpus.statistics.usual import USUAL
from eyeline.analyses.progress import Progress
from eyeline.hosts.app.jobs.job import Job
from eyeline.hosts.app.jobs.saving import save_run
from eyeline.hosts.app.models import opened_model
from eyeline.hosts.app.settings import Limits

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus

#: Analyses by name, in the order of the page.
ANALYSES = (*USUAL, "causes")
#: The number of paragraphs and the analyses that the page suggests.
TEXTS, FIRST = 200, ANALYSES[:3]


@dataclass(frozen=True)
class CorpusRequest:
    """analyses: of ANALYSES. limit: paragraphs at most. pairs: segments [CLS] A [SEP] B [SEP]."""

    analyses: tuple[str, ...]
    limit: int
    pairs: bool = False


def first_request(limits: Limits) -> CorpusRequest:
    """What the page is set to when it is opened."""
    return CorpusRequest(FIRST, min(TEXTS, limits.documents))


@dataclass(frozen=True)
class CorpusPageWork:
    """The work of a job: the analysis, then the run's folder, whole or not at all."""

    model: Model | str
    corpus: Corpus
    request: CorpusRequest

    def __call__(self, job: Job) -> None:
        from eyeline.analyses.corpus.run import analyse
        from eyeline.analyses.corpus.statistics.catalogue import statistics_named

        def report(progress: Progress) -> None:
            job.report_progress(replace(progress, step=""))  # the page counts paragraphs

        request, corpus = self.request, self.corpus
        run = analyse(
            opened_model(self.model), corpus, statistics_named(request.analyses), limit=min(request.limit, len(corpus)),
            pairs=request.pairs, window=not request.pairs, progress=report,
        )  # fmt: skip
        save_run(job, run.save)
