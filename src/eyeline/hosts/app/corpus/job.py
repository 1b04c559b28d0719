"""What the Corpus page computes, in the background."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from eyeline.analyses.progress import Progress
from eyeline.hosts.app.jobs.queue import Job, Work
from eyeline.hosts.app.jobs.saving import save_run

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus


def corpus_work(model: Model, corpus: Corpus, only: Sequence[str], limit: int, *, pairs: bool = False) -> Work:
    """The work of a job: the analysis, then the run's folder, whole or not at all. pairs: segments [CLS] A [SEP] B [SEP]."""
    from eyeline.analyses.corpus.run import analyse
    from eyeline.analyses.corpus.statistics.catalogue import statistics_named

    def work(job: Job) -> None:
        def report(progress: Progress) -> None:
            job.report_progress(replace(progress, step=""))  # the page counts paragraphs

        run = analyse(model, corpus, statistics_named(only), limit=min(limit, len(corpus)), pairs=pairs, window=not pairs, progress=report)
        save_run(job, run.save)

    return work
