"""The options of `eyeline paper`: how much is measured."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.measure.runs.options import Options, option, seed_option


@dataclass(frozen=True)
class Amounts(Options):
    """How much is measured; defaults that take minutes."""

    segments: int = option(1000, "Segments of the text, of 128 tokens.", least=1)
    sentences: int = option(400, "Sentences of the built-in treebank.", least=20)
    min_count: int = option(20, "Relations with fewer words get no row; the paper's is 100.", least=1)
    training: int | None = option(300, "Training sentences of the probes, chosen at random.", least=10)
    seeds: int = option(1, "How many times each probe is trained.", least=1)
    epochs: int = option(30, "The most passes of a probe over its training sentences.", least=1)
    seed: int = seed_option()
