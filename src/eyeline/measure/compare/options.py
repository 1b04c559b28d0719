"""The options of `el.compare`, and the facts of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from eyeline.measure.runs.facts import ModelFacts, RunFacts
from eyeline.measure.runs.options import Options, layers_option, limit_option, option, seed_option
from eyeline.measure.space.options import MOST_SEED
from eyeline.storage.records import NAME


@dataclass(frozen=True)
class CompareOptions(Options):
    """The options of `compare`; other: the name of the second model; layers: in the facts of a run by stack."""

    run_kind: ClassVar[str] = "compare"

    other: str = field(default="", metadata={NAME: "with"})
    layers: Mapping[str, tuple[int, ...]] | tuple[int, ...] | None = layers_option()
    limit: int | None = limit_option(about="this many documents, chosen at random with the seed", message="space.limit")
    max_tokens: int | None = option(None, "Skip longer documents.", about="longer documents are skipped and counted")
    seed: int = seed_option(about="for everything that is drawn at random", least=0, most=MOST_SEED, refused="A seed of {value}.")
    spaces: bool = option(
        True,
        "Also make the two spaces of queries and keys, side by side in one page.",
        about="also make the two spaces, where both models give queries and keys",
    )


@dataclass(frozen=True)
class CompareFacts(RunFacts):
    """other: the second model; level: whether tokens or words were compared."""

    options: CompareOptions
    other: ModelFacts | None = field(default=None, metadata={NAME: "with"})
    level: str | None = None
