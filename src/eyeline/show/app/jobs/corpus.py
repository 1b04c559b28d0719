"""What the Corpus page computes, in the background."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eyeline.measure.runs.options import given_options
from eyeline.measure.runs.progress import Progress
from eyeline.measure.statistics.options import USUAL, AnalyseOptions
from eyeline.show.app.jobs.job import Job, save_run
from eyeline.show.app.kit.models import opened_model
from eyeline.show.app.kit.settings import Limits

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus

#: The number of paragraphs and the analyses that the page suggests.
TEXTS, FIRST = 200, USUAL


def analyses() -> tuple[str, ...]:
    """Analyses by name, in the order of the page: every statistic of the catalogue that can be chosen by its name."""
    from eyeline.measure.corpus.catalogue import without_options

    return without_options()


@dataclass(frozen=True)
class CorpusRequest:
    """analyses: of `analyses()`."""

    analyses: tuple[str, ...]
    options: AnalyseOptions


def first_request(limits: Limits) -> CorpusRequest:
    """What the page is set to when it is opened."""
    return CorpusRequest(FIRST, AnalyseOptions(limit=min(TEXTS, limits.documents), window=True))


@dataclass(frozen=True)
class CorpusPageWork:
    """The work of a job: the analysis, then the run's folder, whole or not at all."""

    model: Model | str
    corpus: Corpus
    request: CorpusRequest

    def __call__(self, job: Job) -> None:
        from eyeline.measure.corpus.catalogue import statistics_named
        from eyeline.measure.corpus.run import analyse

        def report(progress: Progress) -> None:
            job.report_progress(replace(progress, step=""))  # the page counts paragraphs

        request, corpus = self.request, self.corpus
        options = replace(request.options, limit=min(request.options.limit or len(corpus), len(corpus)))
        run = analyse(opened_model(self.model), corpus, statistics_named(request.analyses), **given_options(options), progress=report)
        save_run(job, run.save)
