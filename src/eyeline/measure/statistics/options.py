"""The options of `el.analyse`, what it measures by default, and the facts of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.options import Options, layers_option, option, seed_option

#: The most tokens of a sentence or window whose words are looked at, unless given.
MAX_TOKENS = 128

#: What a run measures unless other analyses are named, in the order of the report. Nothing of it needs gradients.
USUAL = ("average_attention", "entropy", "position_alone", "distances")

#: What can be asked for by name beside them: importance takes a backward pass over every text, at several times their cost;
#: head scores a pass over random tokens for each text, and are of decoders.
BY_NAME = ("importance", "max_logit", "head_scores")


@dataclass(frozen=True)
class AnalyseOptions(Options):
    """The options of `analyse`. layers: in the facts of a run by stack."""

    run_kind: ClassVar[str] = "analyse"

    limit: int | None = option(
        None,
        "Use at most this many documents (with --pairs: segments), chosen at random.",
        about="this many documents, chosen at random with the seed; with `pairs`, this many segments",
        message="corpus.limit",
    )
    max_tokens: int | None = option(
        None,
        "Skip longer documents; with --pairs the length of a segment (128).",
        about="longer documents are skipped and counted; the model's own limit always holds",
    )
    pairs: bool = option(
        False,
        "Build segments of two parts, [CLS] A [SEP] B [SEP].",
        about="build the paper's segments of two parts, of `max_tokens` tokens (128)",
        message="corpus.pairs",
    )
    window: bool = option(
        False,
        "Cut longer documents into windows instead of skipping them.",
        about="cut longer documents into windows instead of skipping them",
    )
    layers: Mapping[str, tuple[int, ...]] | tuple[int, ...] | None = layers_option(" to analyse")
    seed: int = seed_option(about="for everything that is drawn at random")

    @property
    def text_noun(self) -> str:
        return "pairs" if self.pairs else "texts"


@dataclass(frozen=True)
class AnalyseFacts(RunFacts):
    """statistics: statistic → the options that it was made with; streamed: whether maps were never formed."""

    options: AnalyseOptions
    statistics: Mapping[str, Mapping[str, object]] | None = None
    streamed: bool | None = None
