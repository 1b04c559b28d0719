"""What can be opened, run and drawn, and what each kind needs from its subject: names as strings, imported when they are used.

So what reads runs and draws views need not import the subjects, and a subject or a view is added by a line here.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import Any


def named(name: str) -> Any:
    """What a name such as eyeline.measure.space.result:open_space stands for."""
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


@dataclass(frozen=True)
class RunKind:
    """facts: the record of its facts, with that of its options; page: the interactive page in its folder; opened: what a folder that
    holds such a run alone is opened as, from the folder and the run."""

    name: str
    facts: str
    page: str = ""
    opened: str = ""


#: The kinds of runs, in the order in which they are shown. One folder holds at most one run of each kind.
RUNS = {
    kind.name: kind
    for kind in (
        RunKind("analyse", "eyeline.measure.statistics.options:AnalyseFacts"),
        RunKind("syntax", "eyeline.measure.grammar.options:SyntaxFacts"),
        RunKind("coreference", "eyeline.measure.coreference.options:CoreferenceFacts"),
        RunKind("probe", "eyeline.measure.probes.options:ProbeFacts"),
        RunKind("space", "eyeline.measure.space.options:SpaceFacts", "space.html", "eyeline.measure.space.result:space_in"),
        RunKind("compare", "eyeline.measure.compare.options:CompareFacts", "compare.html", "eyeline.measure.compare.result:comparison_in"),
        RunKind("circuit", "eyeline.measure.causes.options:CircuitFacts"),
    )
}


@dataclass(frozen=True)
class ViewKind:
    """still: draws the picture of what its state shows, from the view, the bounds, the caption and the words; code: the built files of the
    front end that it needs beside the core; by_layer: whether its first drawing needs one layer alone."""

    name: str
    still: str
    code: tuple[str, ...] = ()
    by_layer: bool = False


#: The kinds of views.
VIEWS = {
    kind.name: kind
    for kind in (
        ViewKind("head", "eyeline.look.views.still:head_picture", by_layer=True),
        ViewKind("model", "eyeline.look.views.still:model_picture", ("model",)),
        ViewKind("neuron", "eyeline.look.views.still:neuron_picture", ("neuron",), by_layer=True),
        ViewKind("sentence", "eyeline.look.views.running_text:sentence_picture", ("sentence",), by_layer=True),
        ViewKind("text", "eyeline.look.views.running_text:text_picture", ("text",), by_layer=True),
        ViewKind("generation", "eyeline.look.views.generation:generation_picture", ("generation",)),
        ViewKind("space", "eyeline.measure.space.still:space_picture", ("space",)),
    )
}

#: The kinds of files, and what opens each.
FILES = {
    "trace": "eyeline.look.trace:open_trace",
    "generation": "eyeline.look.generation:open_generation",
    "space": "eyeline.measure.space.result:open_space",
    "probes": "eyeline.measure.runs.trained:open_trained_probes",
}
