"""What the probes of a run were trained on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from eyeline.storage.records import NAME


@dataclass(frozen=True)
class TrainingFacts:
    """The treebank that probes were trained on, and the counts of what was used of it.

    held_out        how many of its sentences were held out: training ended when their loss had not fallen by the share `gain` in
                    `patience` epochs
    seen_again      how many test sentences are also in it, word for word
    special_tokens  how many special tokens stand for ROOT; 0: a learned constant does
    """

    name: str
    sha256: str = ""
    sentences: int | None = None
    counts: Mapping[str, int] = field(default_factory=dict)
    held_out: int | None = None
    patience: int = 0
    gain: float = 0.0
    seen_again: int = 0
    special_tokens: int = 0


@dataclass(frozen=True)
class WordVectorFacts:
    """source: their name; covered: the share of words that have one."""

    source: str = field(metadata={NAME: "from"})
    dims: int
    covered: float
