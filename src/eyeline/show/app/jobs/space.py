"""What the Space page computes: a space of queries and keys, or two models compared, in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from eyeline.errors import TextError
from eyeline.measure.compare.options import CompareOptions
from eyeline.measure.runs.options import given_options
from eyeline.measure.runs.progress import Progress
from eyeline.measure.space.options import SpaceOptions
from eyeline.show.app.jobs.job import Job, save_run
from eyeline.show.app.kit.models import open_model, opened_model
from eyeline.show.app.kit.settings import Limits, current
from eyeline.words import Words

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus

#: The projections that are computed for all heads at once; others are computed for one head, on request.
PROJECTIONS = ("fitted", "freed", "pca")
#: Paragraphs that the page suggests; fewer for two models, which take twice the time.
TEXTS = {"one": 20, "two": 10}
#: The steps of a space that have a message.
STEPS = ("texts", "fitting", "freeing", "holding_out", "projecting")


def first_request(limits: Limits) -> SpaceOptions:
    """What the page is set to when it is opened."""
    return SpaceOptions(project=PROJECTIONS[0], limit=min(TEXTS["one"], limits.documents), max_tokens=limits.tokens)


def first_comparison(limits: Limits) -> CompareOptions:
    """The same for two models."""
    return CompareOptions(limit=min(TEXTS["two"], limits.documents), max_tokens=limits.tokens)


@dataclass(frozen=True)
class SpaceWork:
    """The work of a job: one space, its tables and its file."""

    say: Words
    model: Model | str
    corpus: Corpus
    options: SpaceOptions

    def __call__(self, job: Job) -> None:
        from eyeline.measure.space.run import space as joint_space

        say, model, options = self.say, opened_model(self.model), self.options

        def report(progress: Progress) -> None:
            check_room(say, model, progress.tokens)
            job.report_progress(replace(progress, step=progress.step if progress.step in STEPS else "projecting"))

        space = joint_space(model, self.corpus, **given_options(options), progress=report)
        job.report_progress(Progress("saving", 1, 1))
        save_run(job, space.save)


@dataclass(frozen=True)
class SecondModel:
    """The second model of a comparison, opened when it is called. source: what `load` takes; None: the first one, untrained."""

    first: str
    source: str | None

    def __call__(self) -> Model:
        if self.source is not None:
            return open_model(self.source)
        from eyeline.models.reinitialise import reinitialised

        return reinitialised(open_model(self.first))


@dataclass(frozen=True)
class ComparisonWork:
    """The work of a job: two models head by head, then their two spaces. second: called when the job runs."""

    say: Words
    first: Model | str
    second: Callable[[], Model]
    corpus: Corpus
    options: CompareOptions

    def __call__(self, job: Job) -> None:
        from eyeline.measure.compare.run import compare

        say, first, corpus, options = self.say, opened_model(self.first), self.corpus, self.options

        def report(progress: Progress) -> None:
            check_room(say, first, progress.tokens)
            job.report_progress(progress)

        job.report_progress(Progress("second", 0, 1))
        comparison = compare(first, self.second(), corpus, **given_options(options), progress=report)
        job.report_progress(Progress("saving", 1, 1))
        save_run(job, comparison.save)


def check_room(say: Words, model: Model, tokens: int) -> None:
    """Refuse a text whose space would be too large: a space holds every token of every head."""
    n_heads = sum(sum(model.layout.n_heads(stack)) for stack in model.layout.stacks)
    most = current().limits.points // n_heads
    if tokens > most:
        raise TextError(say("space.too_much", n=f"{tokens:,}", heads=n_heads, most=f"{most:,}"))
