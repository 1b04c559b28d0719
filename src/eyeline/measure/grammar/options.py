"""The options of `el.syntax`, and the facts of its runs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from eyeline.errors import EyelineError, TextError
from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.options import Options, layers_option, limit_option, option, seed_option
from eyeline.measure.statistics.options import MAX_TOKENS

#: Names of relations that a treebank's are turned into: see `gold_of`.
LABELS = ("ud", "stanford", "as-is")


@dataclass(frozen=True)
class SyntaxOptions(Options):
    """The options of `syntax`."""

    run_kind: ClassVar[str] = "syntax"
    error: ClassVar[type[EyelineError]] = TextError

    labels: str = option(
        "ud",
        "ud (subtypes cut, except nmod:poss, aux:pass …), stanford (its names, prep and pobj) or as-is.",
        about="ud (subtypes cut, but for nmod:poss, aux:pass …), stanford (its names, prep and pobj) or as-is",
        choices=LABELS,
        refused="Labels {value!r}.",
        message="grammar.labels",
    )
    min_count: int = option(
        100,
        "Relations with fewer words get no row.",
        about='relations with fewer words get no row; root and punct never do, but count in "all"',
        least=1,
        refused="A minimum count of {value}.",
        message="grammar.least",
    )
    limit: int | None = limit_option("sentences", "this many sentences, chosen at random with the seed", message="grammar.limit")
    max_tokens: int | None = option(
        MAX_TOKENS,
        "Drop sentences of more tokens.",
        about="sentences of more tokens are dropped and counted, as are those with a word that the tokeniser drops",
    )
    layers: tuple[int, ...] | None = layers_option(" to score")
    seed: int = seed_option("For the choice of sentences and the two halves.", about="for the choice of sentences and the two halves")


@dataclass(frozen=True)
class SyntaxFacts(RunFacts):
    """The facts of a run of `syntax`."""

    options: SyntaxOptions
