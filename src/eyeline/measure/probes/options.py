"""The options of `el.probe`, and the facts of its runs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from eyeline.errors import EyelineError, TextError
from eyeline.measure.runs.facts import RunFacts
from eyeline.measure.runs.options import Options, limit_option, option, seed_option
from eyeline.measure.statistics.options import MAX_TOKENS
from eyeline.storage.records import NAME

#: The largest seed that torch and NumPy both take.
MOST_SEED = 2**32 - 1


@dataclass(frozen=True)
class ProbeOptions(Options):
    """The options of `probe`; words: the name of the word vectors. The files that were read have facts of their own."""

    run_kind: ClassVar[str] = "probe"
    error: ClassVar[type[EyelineError]] = TextError

    train: object = option(
        None,
        "The treebank to train on. Without it: one half of TREEBANK, and the other is scored.",
        about="the one to learn from; without it, one half of `treebank`, drawn with the seed, and the other half is scored",
        python="Treebank | Sequence[Sentence] | str | Path | None",
    )
    glove: object = option(
        None,
        "Word vectors: a folder or GloVe's text file. Without them: the model's own embeddings.",
        about="word vectors (a folder or GloVe's text file); without it the words are the model's own input embeddings",
        python="str | Path | None",
    )
    limit: int | None = limit_option(
        "training sentences", "this many training sentences, chosen at random", least=1, message="grammar.limit"
    )
    max_tokens: int = option(
        MAX_TOKENS,
        "Longer sentences are left out and counted.",
        about="longer sentences are left out and counted, as in the paper",
        least=1,
    )
    layers: tuple[int, ...] | None = option(
        None, "Only the heads of these layers, from 0, such as 0,5.", about="only the heads of these layers"
    )
    seeds: int = option(
        3,
        "How many times each probe is trained; the tables give the mean.",
        about="how often each probe is trained, each time with other starting weights and another order; tables give the mean",
        least=1,
    )
    epochs: int = option(
        100,
        "The most passes over the training sentences; training ends earlier where it no longer helps.",
        about="how often each sentence is seen at most; once in the paper. A tenth of the training sentences is held out: training ends "
        "where the loss on them has not fallen by one per cent in five epochs, and the weights of the best epoch are kept",
        least=1,
    )
    seed: int = seed_option(about="for everything that is drawn at random", least=0, most=MOST_SEED)
    words: str = ""


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


@dataclass(frozen=True)
class ProbeFacts(RunFacts):
    """train: what the probes learnt from; words: the word vectors that some of them read."""

    options: ProbeOptions
    train: TrainingFacts | None = None
    words: WordVectorFacts | None = None
