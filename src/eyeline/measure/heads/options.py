"""The options with which every head of a model is measured, for `eyeline gallery`."""

from __future__ import annotations

from dataclasses import dataclass

from eyeline.measure.runs.options import Options, option, seed_option


@dataclass(frozen=True)
class GalleryOptions(Options):
    """The options of `measure_heads`."""

    texts: int = option(
        16,
        "Paragraphs of the built-in text, for statistics and effects.",
        about="paragraphs of the built-in text, for statistics and effects",
        least=1,
    )
    sentences: int = option(
        500,
        "Sentences of the built-in treebank, for grammar and reference.",
        about="sentences of the built-in treebank, for grammar and reference",
        least=1,
    )
    min_count: int = option(50, "Leave out relations with fewer words.", about="relations with fewer words are left out", least=1)
    seed: int = seed_option(about="for everything that is drawn at random")
