"""What the Space page computes: a space of queries and keys, or two models compared, in the background."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from eyeline.analyses.progress import Progress
from eyeline.errors import TextError
from eyeline.hosts.app.jobs import Job, keep
from eyeline.hosts.app.messages import Say
from eyeline.hosts.app.settings import current
from eyeline.results.comparison import Comparison
from eyeline.results.facts import CompareOptions
from eyeline.results.space.file import FILE
from eyeline.results.space.space import Space

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.corpora.corpus import Corpus

#: The projections that are made for all heads at once; others are made of one head, when it is asked for.
PROJECTIONS, GAUGES = ("fitted", "freed", "pca"), ("attentionviz", "lifted", "none")
#: The steps of a space that have a message.
STEPS = ("texts", "fitting", "freeing")


@dataclass(frozen=True)
class Wanted:
    """project, gauge, dims: as el.space takes them; gauge: None where the projection needs none. limit: texts; max_tokens: of one."""

    limit: int
    max_tokens: int
    project: str = "fitted"
    gauge: str | None = None
    dims: int = 2


def heads_in(model: Model) -> int:
    return sum(sum(model.layout.n_heads(stack)) for stack in model.layout.stacks)


def measure_space(say: Say, model: Model, corpus: Corpus, wanted: Wanted, owner: str) -> Callable[[Job], None]:
    """The work of a job: one space, its tables and its file."""

    def work(job: Job) -> None:
        space = _space(say, model, corpus, wanted, job)
        job.report_progress(Progress("saving", 1, 1))

        def save(folder: Path) -> None:
            space.run().save(folder)
            space.save(folder / FILE)

        keep(job, owner, save)

    return work


def _space(say: Say, model: Model, corpus: Corpus, wanted: Wanted, job: Job, doing: str = "", **more: object) -> Space:
    from eyeline.analyses.space.run import space as joint_space

    def report(progress: Progress) -> None:
        check_room(say, model, progress.tokens)
        job.report_progress(replace(progress, step=doing or (progress.step if progress.step in STEPS else "fitting")))

    return joint_space(
        model, corpus, project=wanted.project, gauge=wanted.gauge, dims=wanted.dims, limit=wanted.limit, max_tokens=wanted.max_tokens,
        progress=report, **more,  # type: ignore[arg-type]
    )  # fmt: skip


def check_room(say: Say, model: Model, tokens: int) -> None:
    """A space holds every token of every head: so many as all visitors' machine has room for."""
    most = current().limits.points // heads_in(model)
    if tokens > most:
        raise TextError(say("space.too_much", n=f"{tokens:,}", heads=heads_in(model), most=f"{most:,}"))


def measure_comparison(
    say: Say, first: Model, second: Callable[[], Model], corpus: Corpus, wanted: Wanted, owner: str
) -> Callable[[Job], None]:
    """The work of a job: two models head by head, then their two spaces, which can be stopped on the way. second: made when it is due."""
    from eyeline.analyses.compare.run import compare

    def work(job: Job) -> None:
        job.report_progress(Progress("second", 0, 1))
        other = second()

        def show(progress: Progress) -> None:
            check_room(say, first, progress.tokens)
            job.report_progress(progress)

        found = compare(first, other, corpus, limit=wanted.limit, max_tokens=wanted.max_tokens, spaces=False, progress=show)
        options = found.facts.options_as(CompareOptions)
        layers = sorted({layer for numbers in options.layers.values() for layer in numbers})
        left_out = dict(found.facts.left_out)
        spaces = None
        if first.gives.recorded and other.gives.recorded:
            same = replace(wanted, max_tokens=options.max_tokens or wanted.max_tokens)
            a, b = (
                _space(say, model, corpus, same, job, step, layers=layers)
                for model, step in ((first, "first_space"), (other, "second_space"))
            )
            spaces = (a, b)
        else:
            left_out["space"] = say("space.no_vectors")
        job.report_progress(Progress("saving", 1, 1))
        keep(job, owner, Comparison(found.run.with_facts(options=replace(options, spaces=True), left_out=left_out), spaces).save)

    return work
