"""The options of `el.coreference`, and the facts of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.options import Options, layers_option, limit_option, option, seed_option
from eyeline.measure.statistics.options import MAX_TOKENS
from eyeline.messages import Message


@dataclass(frozen=True)
class CoreferenceOptions(Options):
    """The options of `coreference`."""

    run_kind: ClassVar[str] = "coreference"

    limit: int | None = limit_option(about="this many documents, chosen at random with the seed", message="grammar.limit")
    max_tokens: int = option(
        MAX_TOKENS,
        "Tokens in a window: documents are read in windows, cut between sentences.",
        about="documents are read in windows of this many tokens, special ones included, cut between sentences",
    )
    first_window: bool = option(
        False,
        "Only the first window of each document, as in the paper.",
        about="only the first window of each document, as in the paper",
    )
    layers: tuple[int, ...] | None = layers_option(" to score")
    seed: int = seed_option(
        "For the limit, and the halves of the held-out head.",
        about="of the limit, and of the halves of the documents on which the held-out head is chosen and scored",
    )
    strict: bool = option(
        False, "Stop at what cannot be used, instead of counting it.", about="stop at what cannot be used, instead of counting it"
    )


@dataclass(frozen=True)
class ExampleFacts:
    """The text that the figure of coreference shows, and the head that it shows."""

    document: str
    layer: int
    head: int


@dataclass(frozen=True)
class HeldOutFacts:
    """heads: the head chosen on each half of the documents, such as L3·H7; why: the reason where there is none."""

    heads: tuple[str, ...] = ()
    why: Message | None = None


@dataclass(frozen=True)
class MentionFacts:
    """n: type of mention → how many were scored."""

    n: Mapping[str, int]
    held_out: HeldOutFacts
    example: ExampleFacts


@dataclass(frozen=True)
class CoreferenceFacts(RunFacts):
    """coreference: what was scored, and what the figure shows."""

    options: CoreferenceOptions
    coreference: MentionFacts | None = None
