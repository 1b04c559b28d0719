"""Every analysis reports its progress in one way, and is stopped in one way."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

import eyeline as el
from eyeline.measure.runs.progress import Progress, StopRequestedError
from eyeline.measure.space import fit as space_fit
from eyeline.measure.space.fit import fit_projections
from eyeline.mentions import MarkedDocument, Mention
from eyeline.treebanks import Sentence
from tests.laws.statistics import tiny_model
from tests.measure.causes.tiny import decoder

pytestmark = pytest.mark.usefixtures("quick_pictures")

TEXTS = ["the cat sat on the mat .", "a dog ran home , and it purred .", "the dog and the cat ran a very long way home ."]
WORDS = [
    ("the", "cat", "sat", "home", "."),
    ("a", "dog", "ran", "home", "."),
    ("the", "dog", "sat", "home", "."),
    ("a", "cat", "ran", "home", "."),
]
SENTENCES = [Sentence(f"s{i}", words, (1, 2, -1, 2, 2), ("det", "nsubj", "root", "obj", "punct")) for i, words in enumerate(WORDS)]
DOCUMENTS = [
    MarkedDocument("d", (("the", "cat", "ran", "and", "it", "purred"),), (Mention(0, 1, 1, 0, "nominal"), Mention(4, 4, 4, 0, "pronoun")))
]

ANALYSES: dict[str, Callable[..., Any]] = {
    "analyse": lambda **given: el.analyse(tiny_model(), TEXTS, [el.statistics.Entropy()], **given),
    "syntax": lambda **given: el.syntax(tiny_model(), SENTENCES, min_count=1, **given),
    "coreference": lambda **given: el.coreference(tiny_model(), DOCUMENTS, **given),
    "probe": lambda **given: el.probe(tiny_model(), SENTENCES, seeds=1, epochs=2, **given),
    "space": lambda **given: el.space(tiny_model(), TEXTS, **given),
    "compare": lambda **given: el.compare(tiny_model(), tiny_model(), TEXTS, **given),
    "causes": lambda **given: el.causes(decoder(), TEXTS, **given),
    "circuit": lambda **given: el.circuit(decoder(), "the cat sat on the", "the dog ran on the", answer="mat", against="home", **given),
}


@pytest.fixture(autouse=True)
def quick_fit(monkeypatch):
    monkeypatch.setattr(space_fit, "fit_projections", partial(fit_projections, starts=1, steps=2))


@pytest.mark.parametrize("name", ANALYSES)
def test_every_analysis_reports_steps_that_end_at_the_whole(name):
    reports: list[Progress] = []
    ANALYSES[name](progress=reports.append)
    assert all(isinstance(report, Progress) and report.step for report in reports)
    shares = [report.share for report in reports]
    assert shares == sorted(shares), "progress never goes back"
    assert shares[-1] == 1.0
    assert {report.index for report in reports} == set(range(reports[0].n_steps)), "no step is silent"


@pytest.mark.parametrize("name", ANALYSES)
def test_a_stop_request_ends_every_step_of_every_analysis(name):
    steps: list[int] = []
    ANALYSES[name](progress=lambda progress: steps.append(progress.index))
    for index in sorted(set(steps)):

        def stop(progress: Progress, index: int = index) -> None:
            if progress.index == index:
                raise StopRequestedError

        with pytest.raises(StopRequestedError):
            ANALYSES[name](progress=stop)
