"""What the Grammar page computes: tables 1, 2 and 3 in the background, into one run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from eyeline.analyses.progress import Progress, ReportProgress
from eyeline.errors import EyelineError, TextError
from eyeline.hosts.app.jobs import Job, keep
from eyeline.hosts.app.texts.uploads import as_file
from eyeline.results.run import Run

if TYPE_CHECKING:
    from eyeline.models.model import Model
    from eyeline.text.coreference.read import MarkedCorpus
    from eyeline.text.treebank.treebank import Treebank

#: Tables 1, 2 and 3 of Clark et al.
ANALYSES = ("syntax", "coreference", "probe")
#: The bar has so many parts.
OF = 1000


@dataclass(frozen=True)
class Gold:
    """What was read for the analyses that were asked for; left_out: those that this file does not allow, and why."""

    treebank: Treebank | None = None
    marked: MarkedCorpus | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Wanted:
    """analyses: of ANALYSES. limit: sentences (documents, for coreference) at most. labels, min_count: of table 1. seeds: of table 3."""

    analyses: tuple[str, ...]
    limit: int
    min_count: int = 20
    labels: str = "ud"
    seeds: int = 1


def read_gold(name: str, data: bytes, analyses: tuple[str, ...]) -> Gold:
    """Read a file as a treebank, as marked mentions, or both. Where none of the analyses can be made of it, an error that says why not."""
    from eyeline.text.coreference.read import read_coreference
    from eyeline.text.treebank.read import read_treebank

    treebank: Treebank | None = None
    marked: MarkedCorpus | None = None
    left_out: dict[str, str] = {}
    with as_file(name, data) as path:
        for one in analyses:
            try:
                if one == "coreference":
                    marked = _called(read_coreference(path), str(path), name)
                elif treebank is None:
                    treebank = read_treebank(path)
            except TextError as error:
                left_out[one] = str(error).replace(str(path), name)
    if len(left_out) == len(analyses):
        raise TextError("\n".join(dict.fromkeys(left_out.values())))
    return Gold(treebank, marked, left_out)


def _called(marked: MarkedCorpus, path: str, name: str) -> MarkedCorpus:
    """Documents without a name are called after their file, which lies in a folder of ours."""
    documents = tuple(replace(one, id=one.id.replace(path, name)) for one in marked.documents)
    return replace(marked, documents=documents, first={kind: told.replace(path, name) for kind, told in marked.first.items()})


def measure(model: Model, gold: Gold, wanted: Wanted, owner: str) -> Callable[[Job], None]:
    """The work of a job: every analysis that can be made; one that fails is left out, and named in the run."""

    def work(job: Job) -> None:
        left_out, found = dict(gold.left_out), []
        chosen = [name for name in wanted.analyses if name not in left_out]
        for place, name in enumerate(chosen):

            def report(progress: Progress, name: str = name, place: int = place) -> None:
                job.report_progress(Progress(name, int(OF * (place + progress.share) / len(chosen)), OF))

            report(Progress(name, 0, 1))
            try:
                found.append(WORK[name](model, gold, wanted, report))
            except EyelineError as error:
                left_out[name] = str(error)
        if not found:
            raise TextError("\n".join(left_out.values()))
        if left_out:
            found[0] = found[0].with_facts(left_out=left_out)
        job.report_progress(Progress("saving", OF, OF))
        keep(job, owner, found[0].join(*found[1:]).save)

    return work


def _syntax(model: Model, gold: Gold, wanted: Wanted, progress: ReportProgress) -> Run:
    from eyeline.analyses.grammar.run import syntax

    assert gold.treebank is not None  # noqa: S101 - read for this
    return syntax(
        model, gold.treebank, labels=wanted.labels, min_count=wanted.min_count, limit=wanted.limit,
        progress=progress,
    )  # fmt: skip


def _coreference(model: Model, gold: Gold, wanted: Wanted, progress: ReportProgress) -> Run:
    from eyeline.analyses.coreference.run import coreference

    assert gold.marked is not None  # noqa: S101 - read for this
    return coreference(model, gold.marked, limit=wanted.limit, progress=progress)


def _probe(model: Model, gold: Gold, wanted: Wanted, progress: ReportProgress) -> Run:
    from eyeline.analyses.probes.run import probe

    assert gold.treebank is not None  # noqa: S101 - read for this
    return probe(model, gold.treebank, limit=max(1, wanted.limit // 2), seeds=wanted.seeds, progress=progress)


WORK: dict[str, Callable[..., Run]] = {"syntax": _syntax, "coreference": _coreference, "probe": _probe}
